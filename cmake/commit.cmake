# Writes OUTPUT from INPUT with HINDSIGHT_VERSION and the commit of SOURCE; leaves it alone when nothing changed, so that nothing is rebuilt.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty=+changes --abbrev=12 --exclude=*
  OUTPUT_VARIABLE HINDSIGHT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(HINDSIGHT_COMMIT unknown)
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
