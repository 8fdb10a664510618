# Writes OUTPUT, a C++ file that holds the text of every file of FILES (separated by '|').
string(REPLACE "|" ";" files "${FILES}")
set(entries "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "      {\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from socs/*.yaml.
#include <functional>
#include <map>
#include <string>

namespace pyasc::machine {

extern const std::map<std::string, std::string, std::less<>> &SocTexts();
const std::map<std::string, std::string, std::less<>> &SocTexts() {
  static const auto *texts = new std::map<std::string, std::string, std::less<>>{
${entries}  };
  return *texts;
}

} // namespace pyasc::machine
")
