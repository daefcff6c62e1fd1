import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { AgentsService, ChatService } from '#chat';

import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { chat } from './chat.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const choice = (id: string) =>
  toolCallReply([
    { id: 'r', name: 'select_route', arguments: JSON.stringify({ route_id: id, reasoning: 'It fits.' }) },
  ]);

describe('agent routing with killed workers', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
    const agents = stage.engine.app.get(AgentsService);
    await agents.create(stage.owner, { name: 'Clerk', instructions: 'Be a clerk.' });
    await agents.create(stage.owner, { name: 'Cook', description: 'Cooks.', instructions: 'Be a cook.' });
  });
  afterEach(() => {
    stage.model.assertDone();
    stage.model.requests.length = 0;
  });
  afterAll(async () => {
    await stage.close();
  });

  /** Starts a chat without an agent; the first worker dies at `point`, and another continues. */
  const orphan = async (point: string): Promise<Viewer> => {
    const worker = await stage.startWorker({ CRASH_POINT: `${point}:kill` });
    const asked = { ...chat('Soup?', []), agent: { type: 'auto' } } as const;
    const { jobId } = await stage.engine.app.get(ChatService).start(stage.owner, asked);
    const viewer = stage.watch(jobId);
    expect((await worker.exited).signal).toBe('SIGKILL');
    const successor = await stage.startWorker();
    await viewer.ended;
    await successor.stop();
    return viewer;
  };
  const prompts = () =>
    stage.model.requests.map(({ json }) => (json['messages'] as { content: string }[])[0]?.content.split('\n')[0]);
  const routing = "Choose the route that fits the user's message best, with the tool select_route.";
  const chosen = ({ events }: Viewer) =>
    events.flatMap((event) => (event.type === 'agent-selected' ? [event.body.slug] : []));

  it('keeps a committed choice when its worker is killed', async () => {
    stage.model.enqueue(choice('cook'), textReply(['Soup.']));
    const viewer = await orphan('after-routing-commit');
    expect(prompts()).toEqual([routing, 'Be a cook.']);
    expect(chosen(viewer)).toEqual(['cook']);
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed', content: 'Soup.' });
  });

  it('chooses once more on the next worker when the choice was not committed', async () => {
    stage.model.enqueue(choice('clerk'), choice('cook'), textReply(['Soup.']));
    const viewer = await orphan('after-routing-answer');
    expect(prompts()).toEqual([routing, routing, 'Be a cook.']);
    expect(chosen(viewer)).toEqual(['cook']);
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed', content: 'Soup.' });
  });

  it('violates no invariant', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
