// The server shows ages, which need no time zone; the exact moment is told in the reader's own.
export function localizeTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = new Date(time.dateTime).toLocaleString();
  }
}
