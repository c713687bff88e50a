// Text in columns, for people.
#ifndef KAMINO_CLIENT_CLI_TABLE_H_
#define KAMINO_CLIENT_CLI_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kamino::client {

// Columns as wide as their widest cell, two spaces apart; the first row is the
// head. Rows may be of different lengths.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

// A line below it for a node that disputes this mutation with the head; ""
// where it is 0: it disputes none.
std::string DisputeOf(const std::string& node_id, uint64_t disputed);

// "1.5 MiB"
std::string FormatBytes(uint64_t bytes);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_TABLE_H_
