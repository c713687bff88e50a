// Expected results as text files that are read and changed as a whole: tables
// of transitions, transcripts of nodes.
//
// A test program with these takes --rewrite: it replaces the expected text by
// its result, and the author reviews the difference.
#ifndef KAMINO_TESTS_REPLICA_EXPECTED_TEXT_H_
#define KAMINO_TESTS_REPLICA_EXPECTED_TEXT_H_

#include <string>
#include <vector>

namespace kamino::replica {

// `path` is relative to the tree. Fails the running test when the file differs
// from `text`, and names the first line that does.
void ExpectText(const std::string& path, const std::string& text);

// All .txt files of a folder, by name.
std::vector<std::string> TextsIn(const std::string& folder);

// The file's content; fails the running test when it cannot be read.
std::string ReadText(const std::string& path);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_EXPECTED_TEXT_H_
