// The figures as they move. They are costly to count, so they follow at a calm pace.

import { follow, refresh } from "./live.js";

const PACE_MS = 1500;
let waiting = null;

follow({
  changed() {
    waiting ??= setTimeout(() => {
      waiting = null;
      refresh();
    }, PACE_MS);
    return false;
  },
  kinds: ["document", "job"],
});
