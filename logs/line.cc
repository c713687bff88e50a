#include "logs/line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace kamino::logs {
namespace {

constexpr const char* kSeverities[] = {"INFO", "WARNING", "ERROR", "FATAL"};
constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

// Length of the UTF-8 character that `text` begins with; 0: invalid.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return size;
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// U+0080 to U+009F in UTF-8: terminals obey these, too. U+009B is ESC [.
bool IsHighControl(absl::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

void AppendJson(absl::string_view text, std::string* line) {
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    const char c = text[0];
    if (size == 0) {
      line->append(kReplacement);
    } else if (c == '"' || c == '\\') {
      line->append({'\\', c});
    } else if (c == '\n') {
      line->append("\\n");
    } else if (IsControl(c)) {
      absl::StrAppendFormat(line, "\\u%04x", c);
    } else if (IsHighControl(text.substr(0, size))) {
      absl::StrAppendFormat(line, "\\u%04x",
                            static_cast<unsigned char>(text[1]));
    } else {
      line->append(text.data(), size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

void AppendText(absl::string_view text, std::string* line) {
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    const char c = text[0];
    if (size == 0) {
      line->append(kReplacement);
    } else if (c == '\n') {
      line->append("\\n");
    } else if (IsControl(c) && c != '\t') {
      absl::StrAppendFormat(line, "\\x%02x", c);
    } else if (IsHighControl(text.substr(0, size))) {
      absl::StrAppendFormat(line, "\\x%02x",
                            static_cast<unsigned char>(text[1]));
    } else {
      line->append(text.data(), size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

void AppendField(const char* name, absl::string_view value, std::string* line) {
  if (value.empty()) return;
  absl::StrAppend(line, ",\"", name, "\":\"");
  AppendJson(value, line);
  line->push_back('"');
}

}  // namespace

std::string JsonLine(const Origin& origin, const Event& event) {
  std::string line =
      absl::StrCat("{\"time\":\"",
                   absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                                    absl::FromUnixMicros(event.unix_micros),
                                    absl::UTCTimeZone()),
                   "\",\"severity\":\"", kSeverities[event.severity & 3], "\"");
  AppendField("program", origin.program, &line);
  AppendField("cluster", origin.cluster, &line);
  AppendField("node", origin.node, &line);
  if (!event.file.empty()) {
    AppendField("file", absl::StrCat(event.file, ":", event.line), &line);
  }
  AppendField("thread", event.thread, &line);
  absl::StrAppend(&line, ",\"thread_id\":", event.thread_id);
  AppendField("request", event.request, &line);
  AppendField("traceparent", event.traceparent, &line);
  absl::StrAppend(&line, ",\"message\":\"");
  AppendJson(event.message, &line);
  line.append("\"}");
  return line;
}

std::string TextLine(absl::string_view prefix, const Event& event) {
  std::string line(prefix);
  AppendText(event.message, &line);
  if (!event.request.empty()) {
    line.append(" [request ");
    AppendText(event.request, &line);
    line.push_back(']');
  }
  if (!event.traceparent.empty()) {
    line.append(" [traceparent ");
    AppendText(event.traceparent, &line);
    line.push_back(']');
  }
  return line;
}

}  // namespace kamino::logs
