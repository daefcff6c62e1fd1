/**
 * The scripted model as a process of its own, for benchmarks and process tests. Every conversation gets the same script: a
 * request whose last message is not a tool result is answered by one tool call (unless `--tool none`), any other by text.
 * `--chunks N --delay-ms N --chunk-text T --tool NAME --arguments JSON --port N`. Prints {"port","url"} as one line on stdout.
 */
import { parseArgs } from 'node:util';

import { ScriptedModel } from './scripted-model.js';
import { textReply, toolCallReply } from './scripted-reply.js';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    chunks: { type: 'string', default: '200' },
    'delay-ms': { type: 'string', default: '0' },
    'chunk-text': { type: 'string', default: ' lorem' },
    tool: { type: 'string', default: 'calculate' },
    arguments: { type: 'string', default: '{"expression":"6*7"}' },
  },
});

const texts = Array.from({ length: Number(values.chunks) }, () => values['chunk-text']);
const text = textReply(texts, { delayMs: Number(values['delay-ms']) });
const call = toolCallReply([{ id: 'call_1', name: values.tool, arguments: values.arguments }]);

const model = await ScriptedModel.start({ port: Number(values.port) });
model.stopRecording();
// Searches the text: parsing each body would cost more than the response.
model.answer((request) => (values.tool === 'none' || request.body.includes('"role":"tool"') ? text : call));
process.stdout.write(`${JSON.stringify({ port: model.port, url: model.url })}\n`);
process.once('SIGTERM', () => void model.close());
