import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { layOutWaitingJob, openInterrupt, placeBelow, type WaitingJob } from '../harness/interrupts.js';

let database: TestDatabase;
let api: TestApi;
let here: Record<Role, TestMember>;
let stranger: TestMember;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  // No worker runs here, so resumed jobs stay queued.
  api = await startTestApi(database, { takesJobs: false });
  stranger = (await api.people.workspaceOf('elsewhere')).owner;
});
beforeEach(async () => {
  worlds += 1;
  here = await api.people.workspaceOf(`here${worlds}`);
});
afterAll(async () => {
  await api.close();
  await database.close();
});

const layOut = (who = here.member) => layOutWaitingJob(api.api.app, who.principal);
const open = (job: WaitingJob) => openInterrupt(api.api.app, job);
const skip = (who: TestMember, id: string) =>
  graphqlMember(api, who.key).query(
    'mutation($id: ID!) { resolveInterrupt(input: { id: $id, action: SKIP }) { userErrors { code } } }',
    { id },
  );

describe('interruptActivity', () => {
  const ACTIVITY =
    'subscription($filter: InterruptFilterInput) { interruptActivity(filter: $filter) { id status job { id status } } }';

  interface Seen {
    readonly id: string;
    readonly status: string;
    readonly job: { readonly id: string; readonly status: string };
  }

  async function watch(who: TestMember, filter: object = {}) {
    const socket = await RawSocket.enter(api, who.key);
    socket.send({ id: '1', type: 'subscribe', payload: { query: ACTIVITY, variables: { filter } } });
    const seen = () =>
      socket.messages
        .filter(({ type }) => type === 'next')
        .map(({ payload }) => (payload as { data: { interruptActivity: Seen } }).data.interruptActivity);
    const until = (id: string, status: string) =>
      socket.until(({ payload }) => {
        const item = (payload as { data?: { interruptActivity?: Seen } } | undefined)?.data?.interruptActivity;
        return item?.id === id && item.status === status;
      });
    return { socket, seen, until };
  }

  it('sends the open requests first, then each one that is opened or settled', async () => {
    const job = await layOut();
    const before = await open(job);
    const { socket, seen, until } = await watch(here.viewer);
    await until(before, 'OPEN');
    const opened = await open(job);
    await until(opened, 'OPEN');
    await skip(here.member, before);
    await until(before, 'RESOLVED');
    await skip(here.member, opened);
    await until(opened, 'RESOLVED');
    expect(seen().map(({ id, status, job: { status: jobStatus } }) => [id, status, jobStatus])).toEqual([
      [before, 'OPEN', 'WAITING'],
      [opened, 'OPEN', 'WAITING'],
      [before, 'RESOLVED', 'WAITING'],
      [opened, 'RESOLVED', 'QUEUED'],
    ]);
    socket.close();
  });

  it('sends a request that was closed because its job was stopped', async () => {
    const job = await layOut();
    const id = await open(job);
    const { socket, until } = await watch(here.owner);
    await until(id, 'OPEN');
    const cancel = 'mutation($id: ID!) { cancelJob(input: { jobId: $id }) { state } }';
    await graphqlMember(api, here.member.key).query(cancel, { id: job.jobId });
    await until(id, 'CANCELLED');
    socket.close();
  });

  it('applies the filter and sends nothing of another tenant', async () => {
    const [mine, others] = [await layOut(here.member), await layOut(here.owner)];
    const { socket, seen, until } = await watch(here.member, { assignee: { eq: 'MINE' } });
    const foreign = await watch(stranger);
    const theirs = await layOutWaitingJob(api.api.app, stranger.principal);
    await open(others);
    const wanted = await open(mine);
    await until(wanted, 'OPEN');
    const own = await open(theirs);
    await foreign.until(own, 'OPEN');
    expect([seen().map(({ id }) => id), foreign.seen().map(({ id }) => id)]).toEqual([[wanted], [own]]);
    socket.close();
    foreign.socket.close();
  });

  it('sends the requests of a job and its sub-jobs, and of no other job', async () => {
    const [root, below, other] = [await layOut(), await layOut(), await layOut()];
    await placeBelow(api.api.app, below, root);
    const own = await open(root);
    const { socket, seen, until } = await watch(here.viewer, { rootJobId: { eq: root.jobId } });
    await until(own, 'OPEN');
    await open(other);
    const asked = await open(below);
    await until(asked, 'OPEN');
    await skip(here.member, asked);
    await until(asked, 'RESOLVED');
    expect(seen().map(({ id, status }) => [id, status])).toEqual([
      [own, 'OPEN'],
      [asked, 'OPEN'],
      [asked, 'RESOLVED'],
    ]);
    socket.close();
  });

  it('sends every request of a large inbox', async () => {
    const job = await layOut();
    const ids: string[] = [];
    for (let i = 0; i < 120; i += 1) ids.unshift(await open(job));
    const { socket, seen, until } = await watch(here.viewer);
    await until(ids.at(-1) ?? '', 'OPEN');
    expect(seen().map(({ id }) => id)).toEqual(ids);
    socket.close();
  });

  it('closes the connection of a removed member', async () => {
    const id = await open(await layOut());
    const { socket, until } = await watch(here.member);
    await until(id, 'OPEN');
    await api.auth.members.remove(here.owner.person, here.member.principal.userId);
    expect(await socket.closed).toMatchObject({ code: 4403 });
  });
});
