# Debian packages, by cpack -G DEB: gfxgraph (tools), libgfxgraph0.2, libgfxgraph-dev, python3-gfxgraph,
# gfxgraph-doc.
set(GFXGRAPH_MAINTAINER "gfxgraph maintainers <maintainers@gfxgraph.invalid>" CACHE STRING "Maintainer field of Debian packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gfxgraph)
set(CPACK_PACKAGE_CONTACT ${GFXGRAPH_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL programs library dev python doc)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The first line of each component's description is its summary.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME gfxgraph)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION devel)
# HIP is the recorded program's: whoever only inspects or checks traces needs none.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS libamdhip64-5)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS gfxgraph-doc)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "record, replay and check the kernel launches of HIP programs
gfxgraph records the launch stream of an unmodified HIP program into a trace,
replays it without the program, and executes every recorded kernel in an
emulator of gfx1030 GPUs to find memory, lane and barrier errors.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgfxgraph0.2)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS libamdhip64-5)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "replay recorded AMD GPU kernel launches (shared library)
libgfxgraph replays traces of gfxgraph inside of a product: eagerly, as a
batch of launches or as a hipGraph, on buffers of the caller.")
# What CPack would generate calls ldconfig in scripts, which Debian replaced by a trigger.
file(WRITE ${PROJECT_BINARY_DIR}/control/shlibs "libgfxgraph 0.2 libgfxgraph0.2 (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/control/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/control/shlibs ${PROJECT_BINARY_DIR}/control/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgfxgraph-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libgfxgraph0.2 (= ${PROJECT_VERSION}), libzstd-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "replay recorded AMD GPU kernel launches (development files)
C and C++ headers of libgfxgraph, a static library, a CMake package and a
pkg-config file.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-gfxgraph)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libgfxgraph0.2 (>= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "replay recorded AMD GPU kernel launches (Python module)
A module that calls libgfxgraph through ctypes.")
set(CPACK_DEBIAN_DOC_PACKAGE_NAME gfxgraph-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOC_DESCRIPTION "record, replay and check the kernel launches of HIP programs (documentation)
The tutorial, guides and reference of gfxgraph, and its sample programs in
HIP, C, C++ and Python, in /usr/share/doc/gfxgraph.")

# ---- licences: own, and those of what is linked in, as the packages that it comes from state them ----
set(linked_in llvm-${LLVM_VERSION_MAJOR}-dev libzstd-dev libfmt-dev libxxhash-dev libflatbuffers-dev libcli11-dev nlohmann-json3-dev libexpected-dev
  libhsa-runtime-dev libamdhip64-dev)
if(GFXGRAPH_D3_FILES)
  list(TRANSFORM GFXGRAPH_D3_MODULES PREPEND node-d3- OUTPUT_VARIABLE d3_packages)
  list(APPEND linked_in ${d3_packages})
endif()
set(copyright ${PROJECT_BINARY_DIR}/copyright)
file(READ NOTICE text)
foreach(package IN LISTS linked_in)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright one)
    string(APPEND text "\n---- ${package} ----\n\n${one}")
  else()
    message(STATUS "No licence of ${package}: packages made here lack it")
  endif()
endforeach()
file(WRITE ${copyright} "${text}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/debian_changelog
  "gfxgraph (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n -- ${GFXGRAPH_MAINTAINER}  ${date}\n")
file(REMOVE ${PROJECT_BINARY_DIR}/changelog.gz)
execute_process(COMMAND gzip -9nc ${PROJECT_BINARY_DIR}/debian_changelog OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz
  COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${copyright} ${PROJECT_BINARY_DIR}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component})
endforeach()
include(CPack)
