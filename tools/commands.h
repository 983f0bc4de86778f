// The commands of gfxgraph, one file each. A command gets its own argument list (argv[0] is the
// command's name) and returns an exit code of base/exit_code.h. Data goes to stdout, messages to
// stderr.
#pragma once

namespace gfxgraph::tools {

int record_command(int argc, char** argv);
int replay_command(int argc, char** argv);
int run_command(int argc, char** argv);
int info_command(int argc, char** argv);
int check_command(int argc, char** argv);
int coverage_command(int argc, char** argv);
int verify_command(int argc, char** argv);
int recover_command(int argc, char** argv);
int export_command(int argc, char** argv);
int report_command(int argc, char** argv);
int diff_command(int argc, char** argv);

}  // namespace gfxgraph::tools
