import { Agent, type Dispatcher } from 'undici';

import type { JobClient, JobTimes } from '../measure/load.js';

/** Anything that speaks OpenAI's chat completions. */
export interface CompletionServer {
  /** Up to and including `/v1`. */
  readonly url: string;
  /** Null: it wants none. */
  readonly apiKey: string | null;
}

const body = JSON.stringify({
  model: 'scripted',
  stream: true,
  messages: [{ role: 'user', content: 'What is 6 * 7? Tell me a long story about it.' }],
});

/** The first chunk with text. */
const firstText = /"content":"[^"]/;

/** Streamed responses over kept connections, read as any OpenAI client reads them: the same client for each server. */
export class CompletionsClient implements JobClient {
  private readonly agent = new Agent({ pipelining: 1, connections: null });

  /** `textLength`: how much text has to arrive; less is a failure. */
  constructor(
    private readonly server: CompletionServer,
    private readonly textLength: number,
  ) {}

  async run(): Promise<JobTimes> {
    const startedAt = performance.now();
    const response = await this.ask();
    let text = '';
    let firstDeltaMs = 0;
    for await (const piece of response.body.setEncoding('utf8') as AsyncIterable<string>) {
      text += piece;
      if (firstDeltaMs === 0 && firstText.test(text)) firstDeltaMs = performance.now() - startedAt;
    }
    const totalMs = performance.now() - startedAt;
    const length = lengthOf(text);
    if (length !== this.textLength) throw new Error(`${length} of ${this.textLength} characters: ${text.slice(-500)}`);
    return { firstDeltaMs, totalMs };
  }

  async close(): Promise<void> {
    await this.agent.close();
  }

  private async ask(): Promise<Dispatcher.ResponseData> {
    const { url, apiKey } = this.server;
    const { origin, pathname } = new URL(url);
    const response = await this.agent.request({
      origin,
      path: `${pathname}/chat/completions`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body,
    });
    if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${await response.body.text()}`);
    return response;
  }
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

/** Characters that the chunks of an event stream say, up to its `[DONE]`. */
function lengthOf(stream: string): number {
  let length = 0;
  for (const line of stream.split('\n')) {
    if (line === 'data: [DONE]') return length;
    if (!line.startsWith('data: ')) continue;
    const { choices } = JSON.parse(line.slice(6)) as Chunk; // what all of them send
    length += choices[0]?.delta.content?.length ?? 0;
  }
  return Number.NaN;
}
