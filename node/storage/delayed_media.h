// Media with slower regions; see engine/pmem/delay_region.h.
#ifndef KAMINO_NODE_STORAGE_DELAYED_MEDIA_H_
#define KAMINO_NODE_STORAGE_DELAYED_MEDIA_H_

#include <memory>

#include "engine/pmem/delay_region.h"
#include "node/storage/media.h"

namespace kamino::node {

// `media` itself if there is no delay.
std::unique_ptr<Media> WithDelays(std::unique_ptr<Media> media,
                                  const engine::PmemDelays& delays);

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_DELAYED_MEDIA_H_
