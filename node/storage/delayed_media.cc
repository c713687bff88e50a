#include "node/storage/delayed_media.h"

#include <utility>

#include "node/storage/wrapped_media.h"

namespace kamino::node {

std::unique_ptr<Media> WithDelays(std::unique_ptr<Media> media,
                                  const engine::PmemDelays& delays) {
  if (!delays.any()) return media;
  return WithWrappedRegions(
      std::move(media), [delays](std::unique_ptr<engine::Region> region) {
        return std::make_unique<engine::DelayRegion>(std::move(region), delays);
      });
}

}  // namespace kamino::node
