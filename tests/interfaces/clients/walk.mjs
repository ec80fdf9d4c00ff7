// What any client does with this server: list the tools, search, page a document, read a resource, meet an error.
// Usage: node walk.mjs v1|v2 QUERY http URL
//        node walk.mjs v1|v2 QUERY stdio COMMAND [ARGUMENT...]
// Prints one JSON object.

const [generation, query, transportKind, target, ...rest] = process.argv.slice(2);

async function parts() {
  if (generation === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    return { Client, StreamableHTTPClientTransport, StdioClientTransport };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return { Client, StreamableHTTPClientTransport, StdioClientTransport };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await parts();
const transport =
  transportKind === "http"
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: "inherit" });
const client = new Client({ name: "walk", version: "1.0.0" });
await client.connect(transport);

const { tools } = await client.listTools();
const call = (name, args) => client.callTool({ name, arguments: args });

const search = await call("search_documents", { query, limit: 3 });
const documentId = search.structuredContent.hits[0].documentId;

const blocks = [];
let pages = 0;
let cursor;
do {
  const page = await call("get_document", {
    document_id: documentId,
    block_limit: 2,
    ...(cursor === undefined ? {} : { block_cursor: cursor }),
  });
  const document = JSON.parse(page.content[0].text);
  blocks.push(...JSON.parse(document.body).blocks);
  pages += 1;
  cursor = document.nextBlockCursor;
} while (cursor !== undefined);

const resource = await client.readResource({ uri: search.structuredContent.hits[0].resourceUri });
const failure = await call("get_document", { document_id: "doc_none" });
const { resources } = await client.listResources();
const { resourceTemplates } = await client.listResourceTemplates();

console.log(
  JSON.stringify({
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools: tools.map((tool) => tool.name),
    hits: search.structuredContent.hits,
    text: JSON.parse(search.content[0].text),
    pages,
    blocks,
    resource: JSON.parse(resource.contents[0].text),
    failure: { isError: failure.isError, text: failure.content[0].text },
    resources: resources.map((item) => item.uri),
    templates: resourceTemplates.map((item) => item.uriTemplate),
  }),
);
await client.close();
