// The program of this process, and how it was started: by the kernel, or through a dynamic loader
// ("ld.so --library-path FOLDERS program ..."). scripts/with-runtime uses the latter to give
// programs another C library and HIP runtime than the system's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gfxgraph {

// The file that is mapped at `address`; empty where none is. Source: proc(5), "maps".
std::filesystem::path file_mapped_at(const void* address);

// The program. /proc/self/exe is the loader if the loader started the program.
std::filesystem::path own_program();

// The program and its arguments, without the loader and its options.
std::vector<std::string> own_command_line();

// The loader and its options; empty where the kernel started the program.
std::vector<std::string> own_loader();

// `loader` with `folder`, if any, in front of the folders that it was told to search, if it was
// told.
std::vector<std::string> loader_with_folder(std::vector<std::string> loader,
                                            std::string_view folder);

}  // namespace gfxgraph
