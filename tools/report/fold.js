// Folds the nodes of a graph into groups that a click opens: ranges, sequences that repeat, chains,
// equal branches side by side, and levels of what is left. A folded node has `parts`.
"use strict";

const fold = (() => {
  const mostShown = 60, longestPeriod = 64, chunk = 20;
  const kernel = (text) => text.replace(/ \d+x\d+x\d+$/, "");
  // Without arguments, sizes and the numbers of buffers.
  const briefly = (text) => kernel(text).replace(/ \(\d+ bytes\)$/, "").replace(/^memset #.*/, "memset").replace(/#\d+/g, "buffer")
    .replaceAll("(anonymous namespace)::", "").replace(/^void /, "").replace(/\(.*\)( \[clone.*)?$/, "");

  // Equal keys: nodes that do the same, whatever their buffers.
  const keys = new Map();
  function numbered(text) {
    if (!keys.has(text)) keys.set(text, keys.size);
    return keys.get(text);
  }

  // `size`: nodes of the graph in it. A repetition of several parts keeps those of its first iteration.
  function group(kind, parts, {times = 1, title = "", path} = {}) {
    const once = d3.sum(parts, (part) => part.size), size = times * once;
    const names = [...new Set(parts.flatMap((part) => part.names))].slice(0, 7);
    const nodes = plural(size, "node");
    const titles = {repeat: parts.length === 1 && parts[0].title ? `${count(times)} × ${parts[0].title}` : `${count(times)} × ${plural(once, "node")}`,
      branches: `${count(parts.length)} side by side`, range: title, same: title, chain: title || nodes, levels: title || nodes};
    const shown = titles[kind];
    const label = [shown === nodes ? nodes : `${shown}: ${nodes}`, names.slice(0, 6).join(", ") + (names.length > 6 ? ", …" : "")];
    const common = path ?? parts.map((part) => part.path).reduce((a, b) => a.slice(0, d3.range(a.length + 1).find((n) => n === a.length || a[n] !== b[n])));
    return {kind, parts, size, names, label, title: kind === "range" ? title.replace(/#\d+$/, "") : "", text: label.join("\n"), path: common,
      key: numbered(`${kind === "range" ? title.replace(/#\d+$/, "") : kind}(${times};${parts.map((part) => part.key)})`), column: parts[0].column};
  }

  // Consecutive nodes of one range become a part, as do those of the ranges inside.
  function inRanges(list, depth = 0) {
    const next = [];
    for (let at = 0; at < list.length;) {
      const range = list[at].path[depth];
      let end = at + 1;
      while (end < list.length && list[end].path[depth] === range) ++end;
      const members = list.slice(at, end);
      if (range === undefined || members.length < 2) next.push(...members);
      else next.push(group("range", cut(withoutRepeats(inRanges(members, depth + 1))), {title: rangeName(data.ranges.list[range]), path: members[0].path.slice(0, depth)}));
      at = end;
    }
    return next;
  }

  // Runs of equal sequences become one part, the shortest sequence first, until none is left.
  function withoutRepeats(parts) {
    for (let changed = true; changed;) {
      changed = false;
      for (let period = 1; period <= Math.min(longestPeriod, parts.length / 2); ++period) {
        const next = [];
        const same = (at, from) => {
          for (let i = 0; i < period; ++i) if (parts[at + i].key !== parts[from + i]?.key) return false;
          return true;
        };
        for (let at = 0; at < parts.length;) {
          let times = 1;
          while (at + (times + 1) * period <= parts.length && same(at, at + times * period)) ++times;
          if (times > 1 && times * period > 2) {
            next.push(period === 1 && !parts[at].parts ? group("same", cut(parts.slice(at, at + times)), {title: `${count(times)} × ${parts[at].names[0]}`}) :
              group("repeat", parts.slice(at, at + period), {times}));
            at += times * period;
            changed = true;
          } else {
            next.push(parts[at++]);
          }
        }
        parts = next;
      }
    }
    return parts;
  }

  // At most `mostShown` parts: longer lists are cut into chains.
  function cut(parts) {
    while (parts.length > mostShown) {
      const whole = parts;
      parts = d3.range(0, whole.length, chunk).map((at) => {
        const some = whole.slice(at, at + chunk);
        return some.length === 1 ? some[0] : group("chain", some);
      });
    }
    return parts;
  }

  // The list with groups in place of their first members.
  function regrouped(list, groups) {
    const place = new Array(list.length), next = [];
    const inside = new Map(groups.flatMap((one) => one.members.map((n) => [n, one])));
    list.forEach((node, n) => {
      const one = inside.get(n);
      if (one && one.place !== undefined) {
        place[n] = one.place;
        return;
      }
      place[n] = next.length;
      if (one) one.place = next.length;
      next.push({...(one ? one.node : node)});
    });
    const after = next.map(() => new Set());
    list.forEach((node, n) => node.after.forEach((from) => place[from] !== place[n] && after[place[n]].add(place[from])));
    next.forEach((node, n) => { node.after = [...after[n]]; });
    return next;
  }

  function followers(list) {
    const later = list.map(() => []);
    list.forEach((node, n) => node.after.forEach((from) => later[from].push(n)));
    return later;
  }

  // Nodes with one predecessor, which has one successor, on one stream.
  function withoutChains(list) {
    const later = followers(list);
    const follows = (n) => list[n].after.length === 1 && later[list[n].after[0]].length === 1 &&
      list[list[n].after[0]].column === list[n].column;
    const groups = [];
    list.forEach((_, first) => {
      if (follows(first)) return;
      const members = [first];
      for (let n = first; later[n].length === 1 && follows(later[n][0]);) members.push(n = later[n][0]);
      if (members.length < 2) return;
      const flat = members.flatMap((n) => list[n].kind === "chain" ? list[n].parts : [list[n]]);
      const parts = cut(withoutRepeats(inRanges(flat)));
      groups.push({members, node: parts.length === 1 ? parts[0] : group("chain", parts)});
    });
    return regrouped(list, groups);
  }

  function withoutBranches(list) {
    const later = followers(list);
    const same = d3.group(list.map((_, n) => n), (n) =>
      [list[n].key, d3.sort(list[n].after), d3.sort(later[n]), list[n].column ?? ""].join("|"));
    const groups = [...same.values()].filter((members) => members.length > 2 && list[members[0]].column === undefined)
      .map((members) => ({members, node: group("branches", members.map((n) => list[n]))}));
    return regrouped(list, groups);
  }

  // Successive layers together, a wide layer in pieces: no group leads back to itself.
  function inLevels(list) {
    const layers = layered(list), most = Math.max(chunk, Math.ceil(list.length * 2 / mostShown)), groups = [];
    const add = (members) => {
      if (members.length < 2) return;
      const at = new Map(members.map((n, i) => [n, i]));
      const parts = members.map((n) => ({...list[n], after: list[n].after.filter((from) => at.has(from)).map((from) => at.get(from))}));
      const mixed = parts.some((part) => part.column !== parts[0].column);
      groups.push({members, node: {...group("levels", parts), column: mixed ? undefined : parts[0].column}});
    };
    let members = [];
    for (const [, layer] of d3.sort(d3.group(d3.range(list.length), (n) => layers[n]), ([depth]) => depth)) {
      if (members.length + layer.length > most) {
        add(members);
        members = [];
      }
      if (layer.length > most) d3.range(0, layer.length, most).forEach((from) => add(layer.slice(from, from + most)));
      else members.push(...layer);
    }
    add(members);
    return regrouped(list, groups);
  }

  const leaf = (node) => ({...node, after: [...new Set(node.after)], size: 1, names: [briefly(node.text)], path: node.path ?? [], title: "",
    key: numbered(node.text.replace(/#\d+/g, "#"))});

  function reduced(list) {
    for (let before = Infinity; list.length < before;) {
      before = list.length;
      list = withoutBranches(withoutChains(list));
    }
    return list.length > mostShown ? inLevels(list) : list;
  }

  // The parts of a folded node, with their edges.
  function opened(node) {
    if (node.kind === "levels") return node.parts.length > mostShown ? inLevels(node.parts) : node.parts;
    const chain = node.kind !== "branches";
    const parts = chain || node.parts.length <= mostShown ? node.parts :
      d3.range(0, node.parts.length, Math.max(chunk, Math.ceil(node.parts.length / mostShown))).map((at, _, all) => group("branches", node.parts.slice(at, at + (all[1] ?? Infinity))));
    return parts.map((part, n) => ({...part, after: chain && n ? [n - 1] : []}));
  }

  // nodes: {text, after, column, path}; path: the ranges that hold the node, outermost first.
  // Returns such a list, in which folded nodes stand for several.
  function folded(nodes) {
    if (nodes.length <= mostShown) return nodes;
    let list = reduced(nodes.map(leaf));
    // A graph that is one group shows its parts.
    while (list.length === 1 && list[0].parts) list = opened(list[0]);
    return list;
  }
  return {folded, opened, kernel, briefly};
})();
