#!/usr/bin/env python3
"""Lists the envelope of a gfxgraph trace: a second, plain reader in the order of docs/format.md.

Standard library only and schema-free: payloads are shown as byte ranges. Structure is checked
(lengths, alignment, padding, order, footer); hashes are shown but not computed, as XXH3 is not in the
standard library. Exit code: 0 whole, 1 damaged, 2 usage, 3 torn (readable up to a point).
"""

import argparse
import json
import struct
import sys

MAGIC = b"\x89GFXG\r\n\x1a"
HEAD_BYTES = 64
HEADER_BYTES = 32
BLOB_HEADER_BYTES = 32
FOOTER_PAYLOAD_BYTES = 24
ALIGNMENT = 64
FLAG_OPTIONAL = 1
FIRST_PRIVATE_KIND = 1 << 31
KINDS = {1: "environment", 2: "code object", 3: "kernel", 4: "graph", 5: "finding", 6: "events",
         7: "blob", 8: "summary", 9: "footer", 10: "site", 11: "compressed events", 12: "index",
         13: "provenance", 14: "device"}
OPTIONAL_KINDS = {10, 12, 13}
CODECS = {0: "plain", 1: "zstd", 2: "chunks"}
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Damaged(Exception):
    """The bytes break a rule."""


class Torn(Exception):
    """The bytes end too early."""


def align(offset):
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def require(condition, offset, message):
    if not condition:
        raise Damaged(f"byte {offset}: {message}")


def read_head(data):
    require(data[:8] == MAGIC[:len(data)], 0, "not a gfxgraph trace")
    if len(data) < HEAD_BYTES:
        raise Torn(f"byte {len(data)}: ends inside the head")
    major, minor, head_bytes = struct.unpack_from("<HHI", data, 8)
    require(major == 1, 8, f"version {major}.{minor} is not 1.x")
    require(head_bytes == HEAD_BYTES, 12, "wrong size of the head")
    require(not any(data[16:56]), 16, "reserved bytes are not zero")
    return {"version": f"{major}.{minor}"}


def read_flatbuffer(data, offset, size):
    """What can be said without the schema: where the root table and its vtable lie."""
    require(size >= 8, offset, "too short for a FlatBuffer")
    (root,) = struct.unpack_from("<I", data, offset)
    require(4 <= root <= size - 4, offset, "root table outside the payload")
    (to_vtable,) = struct.unpack_from("<i", data, offset + root)
    vtable = root - to_vtable
    require(4 <= vtable <= size - 4, offset + root, "vtable outside the payload")
    vtable_bytes, table_bytes = struct.unpack_from("<HH", data, offset + vtable)
    require(vtable_bytes >= 4 and vtable_bytes % 2 == 0 and vtable + vtable_bytes <= size,
            offset + vtable, "impossible vtable")
    require(root + table_bytes <= size, offset + root, "table outside the payload")
    return {"fields": (vtable_bytes - 4) // 2}


def read_blob(data, offset, size):
    require(size >= BLOB_HEADER_BYTES, offset, "shorter than a blob header")
    low, high, size_bytes, codec, reserved = struct.unpack_from("<QQQII", data, offset)
    require((low, high) != (0, 0), offset, "blob id is zero")
    require(codec in CODECS, offset + 24, f"unknown codec {codec}")
    require(reserved == 0, offset + 28, "reserved bytes are not zero")
    stored = size - BLOB_HEADER_BYTES
    at = offset + BLOB_HEADER_BYTES
    require(at % ALIGNMENT == 0, at, "blob bytes are not aligned")
    if CODECS[codec] == "plain":
        require(stored == size_bytes, offset + 16, f"{size_bytes} bytes declared, {stored} stored")
    elif CODECS[codec] == "chunks":
        require(stored >= 8, at, "chunk list without a head")
        (chunk_bytes,) = struct.unpack_from("<Q", data, at)
        require(4096 <= chunk_bytes <= 1 << 20 and chunk_bytes % 4096 == 0, at,
                "impossible chunk size")
        require(size_bytes > chunk_bytes and stored == 8 + 16 * -(-size_bytes // chunk_bytes), at,
                "wrong number of chunks")
    else:
        require(data[at:at + 4] == ZSTD_MAGIC, at, "not a zstd frame")
    return {"id": f"{high:016x}{low:016x}", "size_bytes": size_bytes, "codec": CODECS[codec],
            "stored_bytes": stored}


def read_compressed_events(data, offset, size):
    require(size >= 8, offset, "shorter than its own header")
    (size_bytes,) = struct.unpack_from("<Q", data, offset)
    require(size_bytes <= 16 << 20 and size_bytes // 256 <= size - 8, offset, "impossible size")
    require(data[offset + 8:offset + 12] == ZSTD_MAGIC, offset + 8, "not a zstd frame")
    return {"size_bytes": size_bytes, "stored_bytes": size - 8}


def read_index(data, offset, size, records):
    """Compared with the records before it; one that the summary does not name may say anything."""
    require(size >= 16, offset, "shorter than its own header")
    count, blobs = struct.unpack_from("<QQ", data, offset)
    require(size == 16 + 32 * (count + blobs), offset, "impossible size")
    at = offset + 16
    right = count == len(records) and all(
        data[at + 32 * i:at + 32 * i + 32] == data[record["offset"]:record["offset"] + 32]
        for i, record in enumerate(records))
    at += 32 * count
    entries = [struct.unpack_from("<QQQII", data, at + 32 * i) for i in range(blobs)]
    known = {record["id"]: (record["size_bytes"], record["codec"], i)
             for i, record in enumerate(records) if record["kind"] == "blob"}
    listed = {f"{high:016x}{low:016x}": (size_bytes, CODECS.get(codec), number)
              for low, high, size_bytes, codec, number in entries}
    ids = [(high, low) for low, high, _, _, _ in entries]
    return {"records": count, "blobs": blobs,
            "right": right and listed == known and ids == sorted(ids)}


def read_footer(data, offset, size, records):
    require(size == FOOTER_PAYLOAD_BYTES, offset, "wrong size of the footer")
    summary_offset, count, chain = struct.unpack_from("<QQQ", data, offset)
    require(bool(records) and records[-1]["kind"] == "summary"
            and records[-1]["offset"] == summary_offset, offset, "does not follow the summary")
    require(count == len(records), offset + 8, f"{count} records declared, {len(records)} there")
    end = offset + size
    require(data[end:end + 8] == MAGIC, end, "no closing magic")
    require(end + 8 == len(data), end + 8, "bytes behind the end")
    return {"records": count, "chain": f"{chain:016x}"}


def read_record(data, offset, records):
    """One record as a dict, and where the next one starts."""
    if len(data) - offset < HEADER_BYTES:
        raise Torn(f"byte {len(data)}: ends without a footer" if offset == len(data) else
                   f"byte {len(data)}: ends inside the header of record {len(records)}")
    size, kind, flags, payload_hash, _ = struct.unpack_from("<QIIQQ", data, offset)
    payload = offset + HEADER_BYTES
    require(kind != 0, offset + 8, "kind 0")
    require(flags in (0, FLAG_OPTIONAL), offset + 12, f"flags {flags:#x}")
    known_flags = FLAG_OPTIONAL if kind in OPTIONAL_KINDS else 0
    require(kind not in KINDS or flags == known_flags, offset + 12, f"kind {kind} has flags {flags:#x}")
    require(kind in KINDS or flags == FLAG_OPTIONAL, offset + 8, f"kind {kind} is unknown")
    if size > len(data) - payload or align(payload + size) > len(data):
        raise Torn(f"byte {len(data)}: ends inside record {len(records)}")
    name = KINDS.get(kind, "private" if kind >= FIRST_PRIVATE_KIND else "unknown")
    record = {"offset": offset, "kind": name, "payload": [payload, size],
              "hash": f"{payload_hash:016x}"}
    end = align(payload + size)
    if name == "footer":
        record.update(read_footer(data, payload, size, records))
        return record, end
    require(not records or records[-1]["kind"] != "summary", offset, "a record behind the summary")
    require(not any(data[payload + size:end]), payload + size, "padding is not zero")
    if name == "blob":
        record.update(read_blob(data, payload, size))
        require(all(other.get("id") != record["id"] for other in records), payload,
                "a blob is there twice")
    elif name == "index":
        record.update(read_index(data, payload, size, records))
    elif name == "compressed events":
        record.update(read_compressed_events(data, payload, size))
    elif kind in KINDS:
        record.update(read_flatbuffer(data, payload, size))
    return record, end


def read(data):
    """The trace as a dict; "problem" in it when it is not whole."""
    trace = {"bytes": len(data), "whole": False, "records": []}
    try:
        trace.update(read_head(data))
        offset = HEAD_BYTES
        while True:
            record, offset = read_record(data, offset, trace["records"])
            trace["records"].append(record)
            if record["kind"] == "footer":
                trace["whole"] = True
                return trace
    except Torn as torn:
        trace["torn"] = trace["problem"] = str(torn)
    except Damaged as damaged:
        trace["problem"] = str(damaged)
    return trace


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="+")
    parser.add_argument("--json", action="store_true", help="one JSON object per trace")
    parser.add_argument("--expect-torn", action="store_true", help="exit 0 for torn traces only")
    arguments = parser.parse_args()
    exit_code = 0
    for path in arguments.trace:
        with open(path, "rb") as file:
            trace = read(file.read())
        if arguments.json:
            print(json.dumps({"file": path, **trace}))
        else:
            print(f"{path}: {trace['bytes']} bytes, version {trace.get('version', '?')}")
            for record in trace["records"]:
                offset, kind = record["offset"], record["kind"]
                rest = {key: value for key, value in record.items() if key not in ("offset", "kind")}
                print(f"  {offset:10} {kind:12} {rest}")
        if "problem" in trace:
            print(f"{path}: {trace['problem']}", file=sys.stderr)
        code = 0 if trace["whole"] else 3 if "torn" in trace else 1
        if arguments.expect_torn:
            code = 0 if code == 3 else 1
        exit_code = max(exit_code, code)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
