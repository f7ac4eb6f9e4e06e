# cmake --install: static libraries, headers, hindsightConfig.cmake and the program. Who links them gets
# no warnings of this project's, but no contraction of floating-point operations either: equal gradients means equal
# bits.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/hindsight)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/hindsight)

# Gradients without a program: hindsight::hindsight. With the program's verbs: hindsight::program.
add_library(hindsight_library INTERFACE)
target_link_libraries(hindsight_library INTERFACE hindsight_io)
set_target_properties(hindsight_library PROPERTIES EXPORT_NAME hindsight)

set(libraries hindsight_library)
foreach(room runtime solvers adjoint io program)
  set_target_properties(hindsight_${room} PROPERTIES EXPORT_NAME ${room})
  target_compile_features(hindsight_${room} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
  target_compile_options(hindsight_${room} INTERFACE
                         "$<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>>")
  target_compile_definitions(hindsight_${room} INTERFACE $<INSTALL_INTERFACE:OMPI_SKIP_MPICXX>)
  target_include_directories(hindsight_${room} INTERFACE $<INSTALL_INTERFACE:${headers}>)
  list(APPEND libraries hindsight_${room})
endforeach()
if(HINDSIGHT_SANITIZE)
  target_link_options(hindsight_runtime INTERFACE $<INSTALL_INTERFACE:-fsanitize=${HINDSIGHT_SANITIZE}>)
endif()
foreach(room runtime solvers adjoint io)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${headers} FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/program.hpp DESTINATION ${headers}/src)

install(TARGETS ${libraries} EXPORT hindsightTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hindsight RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT hindsightTargets NAMESPACE hindsight:: DESTINATION ${config})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hindsightConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/hindsightConfig.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hindsightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hindsightConfig.cmake ${PROJECT_BINARY_DIR}/hindsightConfigVersion.cmake
        DESTINATION ${config})
