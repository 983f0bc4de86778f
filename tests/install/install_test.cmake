function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
foreach(component library dev)
  run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${prefix} --component ${component})
endforeach()

foreach(static OFF ON)
  set(build ${WORK_DIR}/embed_replay_${static})
  set(flags "")
  if(SANITIZE)
    set(flags -fsanitize=${SANITIZE})
  endif()
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/samples/embed_replay -B ${build} -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${CXX} -DEMBED_REPLAY_STATIC=${static} "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${flags}")
  run(${CMAKE_COMMAND} --build ${build})
  # Without a trace it says how to use it, and that the library answers.
  execute_process(COMMAND ${build}/embed_replay RESULT_VARIABLE result ERROR_VARIABLE text)
  if(NOT result EQUAL 2 OR NOT text MATCHES "libgfxgraph 0\\.")
    message(FATAL_ERROR "embed_replay (static ${static}) ended with ${result}: ${text}")
  endif()
endforeach()

# Where the whole tree is built: a real trace, in the installed library's own process. Not with
# sanitizers, which a recorder preloaded into a plain program cannot have.
if(NOT SANITIZE AND EXISTS ${BINARY_DIR}/samples/struct_args AND EXISTS ${BINARY_DIR}/bin/gfxgraph-record
   AND EXISTS ${BINARY_DIR}/lib/gfxgraph/libhsa-runtime64.so.1)
  set(trace ${WORK_DIR}/struct_args.gfxg)
  run(${BINARY_DIR}/bin/gfxgraph-record --device emulated -o ${trace} -- ${BINARY_DIR}/samples/struct_args)
  set(inherited "$ENV{LD_LIBRARY_PATH}")
  set(ENV{LD_LIBRARY_PATH} "${BINARY_DIR}/lib/gfxgraph:${BINARY_DIR}/tests/comgr_cache/front")
  foreach(mode eager batch graph auto)
    run(${WORK_DIR}/embed_replay_OFF/embed_replay ${trace} ${mode})
  endforeach()
  run(${WORK_DIR}/embed_replay_ON/embed_replay ${trace} graph)
  set(ENV{LD_LIBRARY_PATH} "${inherited}")
endif()

# And the tools, which find what they preload beside themselves.
if(NOT SANITIZE AND EXISTS ${BINARY_DIR}/bin/gfxgraph AND EXISTS ${BINARY_DIR}/samples/saxpy
   AND EXISTS ${BINARY_DIR}/lib/gfxgraph/libgfxgraph-hip-errors.so)
  run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/tools)
  set(trace ${WORK_DIR}/saxpy.gfxg)
  run(${WORK_DIR}/tools/bin/gfxgraph run -- ${BINARY_DIR}/samples/saxpy)
  run(${WORK_DIR}/tools/bin/gfxgraph-record --device emulated -o ${trace} -- ${BINARY_DIR}/samples/saxpy)
  run(${WORK_DIR}/tools/bin/gfxgraph-replay ${trace} --device emulated --verify)
  # A program that is linked with the layer of stream capture needs no option.
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/tests/install/linked -B ${WORK_DIR}/linked -DCMAKE_PREFIX_PATH=${WORK_DIR}/tools
    -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/linked)
  run(${WORK_DIR}/tools/bin/gfxgraph run -- ${WORK_DIR}/linked/linked)
  if(EXISTS ${BINARY_DIR}/tests/e2e/misbehave)
    execute_process(COMMAND ${WORK_DIR}/tools/bin/gfxgraph run -- ${BINARY_DIR}/tests/e2e/misbehave fault
      RESULT_VARIABLE result ERROR_VARIABLE text)
    if(NOT result EQUAL 5 OR NOT text MATCHES "hipErrorIllegalAddress")
      message(FATAL_ERROR "a faulting program ended with ${result}: ${text}")
    endif()
  endif()
endif()

set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs gfxgraph RESULT_VARIABLE result OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "pkg-config does not find gfxgraph in ${prefix}")
endif()
separate_arguments(flags)
if(SANITIZE)
  list(APPEND flags -fsanitize=${SANITIZE})
endif()
run(${C} -std=c11 -Wall -Wextra -Werror ${SOURCE_DIR}/tests/install/consumer.c -o ${WORK_DIR}/consumer
  ${flags} -Wl,-rpath,${prefix}/${LIBDIR})
run(${WORK_DIR}/consumer)

# The Python module finds the library of its own prefix, wherever the prefix has been moved to, and
# names the variable where there is none.
foreach(component python doc)
  run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${prefix} --component ${component})
endforeach()
if(NOT SANITIZE)
  set(moved ${WORK_DIR}/moved)
  file(RENAME ${prefix} ${moved})
  set(module PYTHONPATH=${moved}/lib/python3/dist-packages)
  set(bare ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH --unset=GFXGRAPH_LIBRARY)
  run(${bare} ${module} ${PYTHON} -c "import gfxgraph; assert gfxgraph._library.library._name.startswith('${moved}/')")
  file(COPY ${moved}/lib/python3/dist-packages/gfxgraph DESTINATION ${WORK_DIR}/alone)
  set(module PYTHONPATH=${WORK_DIR}/alone)
  run(${bare} ${module} GFXGRAPH_LIBRARY=${moved}/${LIBDIR}/libgfxgraph.so.0.2 ${PYTHON} -c "import gfxgraph")
  execute_process(COMMAND ${bare} ${module} GFXGRAPH_LIBRARY=/nowhere.so ${PYTHON} -c "import gfxgraph"
    RESULT_VARIABLE result ERROR_VARIABLE text)
  if(result EQUAL 0 OR NOT text MATCHES "/nowhere.so cannot be loaded .*set GFXGRAPH_LIBRARY to the path")
    message(FATAL_ERROR "a missing library ended with ${result}: ${text}")
  endif()
  # Documents and samples: links within them lead to files, and samples compile where they are.
  set(guides ${moved}/${DATADIR}/doc/gfxgraph)
  run(${PYTHON} ${SOURCE_DIR}/tests/install/installed_links.py ${guides})
  run(${HIPCC} --offload-arch=gfx1030 -std=c++17 -O1 -c ${guides}/samples/decode_step.hip -o ${WORK_DIR}/decode_step.o)
endif()
