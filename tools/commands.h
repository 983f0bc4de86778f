// The commands of gfxgraph, one file each. A command gets its own argument list (argv[0] is the
// command's name) and returns an exit code of base/cli/exit_code.h. Data goes to stdout, messages
// to stderr.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gfxgraph::tools {

int record_command(int argc, char** argv);
int replay_command(int argc, char** argv);
int run_command(int argc, char** argv);
int accelerate_command(int argc, char** argv);
int info_command(int argc, char** argv);
int check_command(int argc, char** argv);
int provenance_command(int argc, char** argv);
// Makes the trace of gfxgraph run --check.
struct CheckedProgram {
  std::string name;             // printed in place of the trace's path, which is gone afterwards
  std::function<int()> record;  // returns -1, or the exit code to end with
};
// gfxgraph check of a trace that `program` makes once the command line is known to be right.
int check_recorded(int argc, char** argv, const CheckedProgram& program);
// gfxgraph run --check: records the program into a temporary trace and checks that. `options`:
// those of gfxgraph check.
int check_program(const std::string& device, bool capture, const std::vector<std::string>& options,
                  const std::vector<char*>& program);
int merge_command(int argc, char** argv);
int coverage_command(int argc, char** argv);
int verify_command(int argc, char** argv);
int recover_command(int argc, char** argv);
int extract_command(int argc, char** argv);
int export_command(int argc, char** argv);
int report_command(int argc, char** argv);
int diff_command(int argc, char** argv);
int doctor_command(int argc, char** argv);

}  // namespace gfxgraph::tools
