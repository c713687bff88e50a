// Ranges are kept and copied in whole words of 8 bytes, which bypass the cache;
// payloads begin and end with one. Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_WORDS_H_
#define KAMINO_ENGINE_KAMINO_WORDS_H_

#include <cstddef>

namespace kamino::engine {

// For a range from offset `begin` to offset `end` of a payload.
constexpr size_t WordsBegin(size_t begin) { return begin / 8 * 8; }
constexpr size_t WordsEnd(size_t end) { return (end + 7) / 8 * 8; }

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_WORDS_H_
