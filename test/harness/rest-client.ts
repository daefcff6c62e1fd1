import type { Reply, TestApi } from './api.js';
import { eventually } from './eventually.js';
import { chatBody, jobIdOf, type RestJobs } from './rest-jobs.js';
import type { ScriptedModel } from './scripted-model.js';
import { toolCallReply } from './scripted-reply.js';

/** A tool as a request advertises it. */
export function advertised(name: string) {
  const parameters = { type: 'object', properties: { path: { type: 'string' } } };
  return { type: 'function', function: { name, description: `Does ${name}`, parameters } };
}

/** One call as the model of a test asks for it. */
export function scriptedCall(id: string, name = 'open_file') {
  return { id, name, arguments: `{"path":"/${id}"}` };
}

/** A client that runs tools, on one device, with one credential. */
export interface RestClient {
  readonly claim: (jobId: string, callId: string) => Promise<Reply>;
  readonly validate: (jobId: string, callId: string, claimToken: string) => Promise<Reply>;
  readonly submit: (jobId: string, claim: { callId: string; claimToken: string }, answer: object) => Promise<Reply>;
  /** Runs all three steps, which must succeed; returns the claimed call. */
  readonly serve: (jobId: string, callId: string, result: string) => Promise<Readonly<Record<string, unknown>>>;
}

export function restClient(test: TestApi, key: string, deviceId: string): RestClient {
  const post = (jobId: string, step: string, body: object) =>
    test.call('POST', `/api/jobs/${jobId}/client-tool/${step}`, { key, body });
  const claim = (jobId: string, callId: string) => post(jobId, 'claim', { callId, deviceId });
  const validate = (jobId: string, callId: string, claimToken: string) =>
    post(jobId, 'validate', { callId, claimToken });
  const submit: RestClient['submit'] = (jobId, claimed, answer) => post(jobId, 'result', { ...claimed, ...answer });
  return {
    claim,
    validate,
    submit,
    serve: async (jobId, callId, result) => {
      const claimed = await claim(jobId, callId);
      const claimToken = tokenOf(claimed);
      for (const reply of [
        await validate(jobId, callId, claimToken),
        await submit(jobId, { callId, claimToken }, { result }),
      ])
        if (reply.status !== 200) throw new Error(`${reply.status}: ${JSON.stringify(reply.body)}`);
      return claimed.body as Readonly<Record<string, unknown>>; // the shape of the contract
    },
  };
}

/** The token in the reply to a claim that was granted. */
export function tokenOf({ status, body }: Reply): string {
  if (status !== 200) throw new Error(`not claimed: ${status} ${JSON.stringify(body)}`);
  return (body as { claimToken: string }).claimToken; // the shape of the contract
}

/** Resolves once the job waits for a person. */
export async function waits(jobs: RestJobs, jobId: string): Promise<void> {
  await eventually('the job waits', async () => {
    const { job_status: status, completedAt } = await jobs.status(jobId);
    if (completedAt !== null) throw new Error(`it has ended: ${String(status)}`);
    return status === 'waiting' ? true : undefined;
  });
}

/** Starts a job whose model asks for `callIds`, and resolves once it waits for a client to run them. */
export async function waitingFor(
  { jobs, model }: { readonly jobs: RestJobs; readonly model: ScriptedModel },
  callIds: readonly string[],
  change: object = {},
): Promise<string> {
  model.enqueue(toolCallReply(callIds.map((id) => scriptedCall(id))));
  const start = { tools: [advertised('open_file')], _clientTools: true, ...change };
  const jobId = jobIdOf(await jobs.start(chatBody(start)));
  await waits(jobs, jobId);
  return jobId;
}
