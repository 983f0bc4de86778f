# D3's modules for the page of gfxgraph report, from Debian's packages. Sets GFXGRAPH_D3_FILES: their licences as a
# script of comments, then the modules, each after those that it uses.
set(GFXGRAPH_D3_MODULES selection dispatch timer ease color interpolate transition drag zoom array collection format time
  time-format scale axis)
set(licences "")
set(modules)
foreach(module IN LISTS GFXGRAPH_D3_MODULES)
  set(package node-d3-${module})
  set(file /usr/share/nodejs/d3-${module}/dist/d3-${module}.min.js)
  set(licence /usr/share/doc/${package}/copyright)
  foreach(needed ${file} ${licence})
    if(NOT EXISTS ${needed})
      message(FATAL_ERROR "No ${needed}: install the Debian package ${package}")
    endif()
  endforeach()
  list(APPEND modules ${file})
  file(READ ${licence} text)
  # Neither may end the comment or the script element that the text gets into.
  string(REPLACE "*/" "* /" text "${text}")
  string(REPLACE "</" "< /" text "${text}")
  string(APPEND licences "/*! d3-${module}, from Debian's package ${package}\n\n${text}*/\n")
endforeach()
# Later ones hand the event to the listener.
file(STRINGS /usr/share/nodejs/d3-selection/dist/d3-selection.min.js version LIMIT_COUNT 1 REGEX "v[0-9]+")
if(NOT version MATCHES "d3-selection/? v1\\.")
  message(FATAL_ERROR "tools/report is written for d3-selection 1, as in Debian 12; this is ${version}")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/d3/d3_licences.js CONTENT "@licences@" @ONLY)
set(GFXGRAPH_D3_FILES ${PROJECT_BINARY_DIR}/d3/d3_licences.js ${modules})
