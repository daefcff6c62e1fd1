import { expect } from '@jest/globals';

import type { TestApi } from './api.js';
import { eventually } from './eventually.js';
import { ask } from './graphql.js';

/** What a start gives. */
export interface Started {
  readonly jobId: string | null;
  readonly threadId: string | null;
  readonly replayed: boolean | null;
  readonly userErrors: readonly { readonly code: string; readonly field: string | null }[];
}

/** A member who uses GraphQL correctly: every response is expected to have no `errors`. */
export interface GraphqlMember {
  query(text: string, variables?: object): Promise<Readonly<Record<string, unknown>>>;
  start(input: object): Promise<Started>;
  /** Starts a job and waits for its end. */
  run(input: object): Promise<Started>;
  finished(jobId: string | null): Promise<void>;
}

const START = `mutation($input: StartChatInput!) {
  startChat(input: $input) { jobId threadId messageId replayed job { id status } userErrors { code message field } }
}`;

export function graphqlMember(api: Pick<TestApi, 'url'>, key: string): GraphqlMember {
  const query = async (text: string, variables?: object) => {
    const { data, errors } = await ask(api, text, { key, ...(variables === undefined ? {} : { variables }) });
    expect(errors).toEqual([]);
    return data ?? {};
  };
  const start = async (input: object) => (await query(START, { input }))['startChat'] as Started;
  const finished = async (jobId: string | null) => {
    await eventually('the job has ended', async () => {
      const { job } = await query('query($id: ID!) { job(id: $id) { finishedAt } }', { id: jobId });
      return (job as { finishedAt: string | null }).finishedAt ?? undefined;
    });
  };
  const run = async (input: object) => {
    const started = await start(input);
    await finished(started.jobId);
    return started;
  };
  return { query, start, run, finished };
}
