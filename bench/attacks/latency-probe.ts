import { setTimeout as sleep } from 'node:timers/promises';

import { Agent, request } from 'undici';

/** A request that runs longer counts as this long. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Sends one request after the other, and notes how long each took. A refused or failed one counts as the longest. */
export class LatencyProbe {
  readonly timesMs: number[] = [];
  failures = 0;
  private readonly agent = new Agent({ connections: 1, headersTimeout: REQUEST_TIMEOUT_MS });
  private readonly ended: Promise<void>;
  private isStopped = false;

  constructor(
    private readonly call: (agent: Agent) => Promise<number>,
    private readonly everyMs: number,
  ) {
    this.ended = this.run();
  }

  /** Ends after the request that is running. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.ended;
    await this.agent.close();
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      const began = performance.now();
      try {
        const status = await this.call(this.agent);
        if (status !== 200) this.failures += 1;
      } catch {
        this.failures += 1;
      }
      this.timesMs.push(performance.now() - began);
      await sleep(this.everyMs);
    }
  }
}

/** GET without a credential. */
export async function get(agent: Agent, url: string): Promise<number> {
  const reply = await request(url, { dispatcher: agent });
  await reply.body.dump();
  return reply.statusCode;
}

/** A list query, as a console of another tenant sends it. */
export async function listJobs(agent: Agent, url: string, apiKey: string): Promise<number> {
  const reply = await request(`${url}/graphql`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ jobs(first: 10) { nodes { id status createdAt } } }' }),
  });
  const { errors } = (await reply.body.json()) as { errors?: unknown }; // as GraphQL over HTTP defines it
  return errors === undefined ? reply.statusCode : 400;
}
