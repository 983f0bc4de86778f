# The guides and the samples, in the folders of the source, so that links between them and includes hold.
set(guides ${CMAKE_INSTALL_DATADIR}/doc/gfxgraph)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md NOTICE DESTINATION ${guides} COMPONENT doc)
install(DIRECTORY docs samples include DESTINATION ${guides} COMPONENT doc)
install(FILES format/trace.fbs DESTINATION ${guides}/format COMPONENT doc)
install(DIRECTORY replayer/python/gfxgraph DESTINATION ${guides}/replayer/python COMPONENT doc FILES_MATCHING PATTERN "*.py")

# Manual pages and shell completion, from what the programs print for --help.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(documentation ${PROJECT_BINARY_DIR}/documentation)
set(manuals gfxgraph gfxgraph-record gfxgraph-replay)
foreach(command run accelerate info check merge provenance coverage verify recover diff extract export report doctor)
  list(APPEND manuals gfxgraph-${command})
endforeach()
list(TRANSFORM manuals PREPEND ${documentation}/man/)
list(TRANSFORM manuals APPEND .1.gz)
add_custom_command(OUTPUT ${manuals} ${documentation}/completion/bash ${documentation}/completion/zsh
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/documentation.py $<TARGET_FILE_DIR:gfxgraph> ${documentation} ${PROJECT_VERSION}
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/documentation.py gfxgraph gfxgraph-record gfxgraph-replay
  COMMENT "Writing manual pages and shell completion" VERBATIM)
add_custom_target(documentation ALL DEPENDS ${manuals} ${documentation}/completion/bash ${documentation}/completion/zsh)

install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${documentation}/completion/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME gfxgraph COMPONENT programs)
# bash-completion looks for a file of the program's name.
foreach(program gfxgraph-record gfxgraph-replay)
  install(CODE "file(CREATE_LINK gfxgraph \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/${program}\" SYMBOLIC)"
    COMPONENT programs)
endforeach()
install(FILES ${documentation}/completion/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  RENAME _gfxgraph COMPONENT programs)
