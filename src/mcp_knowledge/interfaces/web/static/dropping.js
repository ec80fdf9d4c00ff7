// Files and folders dropped anywhere on the page.

// What systems and office programs scatter about (.DS_Store, ~$letter.docx of one that is open): nobody's documents.
const LITTER = /^(\.|~\$|(ehthumbs|thumbs)\.db$|desktop\.ini$|__MACOSX$)/i;

// Every file below an entry, with its path from what was dropped. One that cannot be read keeps no other back.
async function filesBelow(entry) {
  if (LITTER.test(entry.name)) return [];
  const path = entry.fullPath.replace(/^\//, "");
  try {
    if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path }];
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most 100 at a time
      if (!part.length) return found;
      for (const child of part) found.push(...(await filesBelow(child)));
    }
  } catch {
    return [{ file: new File([], entry.name), path, unreadable: true }];
  }
}

// The entries are taken before anything is awaited: the browser empties the transfer afterwards.
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map(filesBelow))).flat();
}

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

// Calls `dropped` with [{file, path, unreadable}] for each drop, and marks the page while files are held over it.
export function acceptDrops(dropped) {
  let depth = 0; // dragenter and dragleave come for every element on the way
  const enter = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle("dropping", depth > 0);
  };
  const on = (name, act) =>
    addEventListener(name, (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      act(event);
    });
  on("dragenter", () => enter(1));
  on("dragleave", () => enter(-1));
  on("dragover", (event) => (event.dataTransfer.dropEffect = "copy"));
  on("drop", async (event) => {
    enter(-depth);
    dropped(await droppedFiles(event.dataTransfer));
  });
}
