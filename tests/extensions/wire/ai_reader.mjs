// Reads recorded answers with the npm package `ai`: lines {api, stream, type, body (base64), tools} in, readings out.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

globalThis.AI_SDK_LOG_WARNINGS = false;
const require = createRequire(pathToFileURL(process.argv[2] + "/"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { generateText, streamText, tool, jsonSchema } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createAnthropic } = await load("@ai-sdk/anthropic");

function modelOf(api, fetch) {
  const settings = { baseURL: "http://recorded.invalid", apiKey: "none", name: "recorded", fetch };
  if (api === "chat") return createOpenAICompatible(settings).chatModel("m");
  if (api === "responses") return createOpenAI(settings).responses("m");
  return createAnthropic(settings)("m");
}

async function read({ api, stream, type, body, tools }) {
  const bytes = Buffer.from(body, "base64");
  const fetch = async () => new Response(bytes, { status: 200, headers: { "content-type": type } });
  const open = tool({ inputSchema: jsonSchema({ type: "object" }) });
  const asked = {
    model: modelOf(api, fetch), prompt: "?", maxRetries: 0, onError: () => {},
    tools: Object.fromEntries(tools.map((name) => [name, open])),
  };
  let result;
  if (stream) {
    result = streamText(asked);
    for await (const part of result.fullStream) if (part.type === "error") throw part.error;
  } else {
    result = await generateText(asked);
  }
  const calls = (await result.toolCalls).map((call) => [call.toolCallId, call.toolName, call.input]);
  return { calls, text: await result.text, finish: await result.finishReason };
}

for await (const line of createInterface({ input: process.stdin })) {
  const reading = await read(JSON.parse(line)).catch((error) => ({ error: `${error.name}: ${error.message}` }));
  console.log(JSON.stringify(reading));
}
