import { readdirSync, readFileSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Workflow } from '#workflows';

import { eventually } from '../harness/eventually.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { runThere } from '../harness/oracle-library.js';
import { definition, worldOf } from '../harness/oracle-sides.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';
import { publish, startWorkflow } from '../harness/workflows.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ LOG_LEVEL: 'error' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

describe('workflow examples:', () => {
  let mail: HttpTarget;
  let mailStatus = 200;
  const played = new Set<string>();

  beforeAll(async () => {
    mail = await startHttpTarget((_, response) => {
      response.statusCode = mailStatus;
      response.end('{"id":"letter-1"}');
    });
  });
  afterAll(async () => {
    await mail.close();
  });

  const folder = 'examples/workflows';

  const published = new Map<string, Promise<Workflow>>();

  async function run(name: string, prompt: string): Promise<string> {
    const { engine, people } = stage;
    const workflow = await publishExample(name);
    played.add(name);
    return startWorkflow(engine, people.member, { workflow, prompt });
  }

  /** As it is shipped; only a host that is not there is another one. */
  function publishExample(name: string): Promise<Workflow> {
    const text = readFileSync(`${folder}/${name}.json`, 'utf8').replace('https://mail.example.org', mail.url);
    const definition = JSON.parse(text) as object; // an example is one
    const workflow = published.get(name) ?? publish(stage.engine, stage.people.owner, definition);
    published.set(name, workflow);
    return workflow;
  }

  const say = (line: string, ...texts: readonly string[]) => {
    stage.script(line, ...texts.map((text) => textReply([text])));
  };

  const improver = 'You improve texts towards the goal you are given.';
  const judge = 'You control a loop. Answer only "continue" or "done".';

  it('research-and-write returns its article', async () => {
    say('Collect the facts that answer the question. Write short bullet points.', '- It is blue.');
    say('Write three clear paragraphs from the facts you are given.', 'The sky is blu.');
    say('Correct mistakes and cut what is not needed. Reply with the text only.', 'The sky is blue.');
    const jobId = await run('research-and-write', 'Why is the sky blue?');
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'completed',
      content: '# Article\n\nThe sky is blue.\n\n## Facts\n\n- It is blue.',
    });
  });

  it('the support example passes a request to the route of its router', async () => {
    const args = { route_id: 'technical', reasoning: 'It broke.' };
    const choice = { id: 'c1', name: 'select_route', arguments: JSON.stringify(args) };
    stage.script('Rules:', toolCallReply([choice]));
    say('Help with technical problems, step by step.', 'Turn it off and on.');
    const jobId = await run('support-requests', 'It is broken.');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(await stage.statusesOf(jobId)).toEqual({
      ...{ start: 'completed', triage: 'completed', billing: 'skipped', technical: 'completed', other: 'skipped' },
      reply: 'completed',
    });
    expect(stage.asked('Help with technical problems, step by step.')[0]?.at(-1)).toEqual({
      role: 'user',
      content: 'It is broken.',
    });
  });

  it('refine-until-good improves a text until the judge is satisfied', async () => {
    say(improver, 'Better.', 'Good.');
    say(judge, 'continue', 'continue', 'done');
    const jobId = await run('refine-until-good', 'Bad.');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: expect.stringContaining('Good.') });
    expect(await stage.outputsOf(jobId)).toMatchObject({
      ...{ goal: 'No house style is known.', 'improve@1': 'Better.', 'improve@2': 'Good.', refine: 'Good.' },
      brief: 'Goal: clear and short\n\nStyle:\nNo house style is known.\n\nText:\nBad.',
    });
  });

  it('three-views merges three views and lets another example summarize them', async () => {
    await publishExample('refine-until-good');
    say('Say what is good about the proposal.', 'Fast.');
    say('Say what could go wrong.', 'Loud.');
    say('Say what it costs, in money and time.', 'Little.');
    say('Merge the views into one balanced assessment. Name what they agree on first.', 'Fast, loud and cheap.');
    say(improver, 'Do it.');
    say(judge, 'continue', 'done');
    const jobId = await run('three-views', 'A train.');
    const { content, status } = await stage.ended(jobId);
    expect(status).toBe('completed');
    expect(JSON.parse(content)).toMatchObject({
      result: expect.stringMatching(/Do it\.[^]*\n\nLoud\.$/),
      metadata: { nodeChain: ['start', 'views', 'summary'] },
    });
    expect((await stage.outputsOf(jobId))['sf:summary|brief']).toContain('Goal: at most five sentences');
  });

  it('translate-each translates every line', async () => {
    const translator = 'Translate the line into French. Reply with the translation only.';
    say(translator, 'un', 'un');
    const jobId = await run('translate-each', 'one\n\none');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: expect.stringMatching(/un\nun$/) });
  });

  /** As the people in it would have it, until it has ended. */
  async function sendLetter(): Promise<string> {
    say('Write a short, friendly letter for the occasion.', 'Dear Ada');
    const jobId = await run('send-after-approval', 'A birthday');
    for (const [node, answer] of [
      ['draft', { action: 'modify', data: 'Dear Ada!' }],
      ['recipient', { action: 'submit', data: { email: 'ada@example.org' } }],
      ['consent', { action: 'approve' }],
    ] as const) {
      await stage.answer((await stage.waitsAt(jobId)).get(node), answer);
    }
    expect([...(await stage.waitsAt(jobId)).keys()]).toEqual(['pause']);
    await stage.expire(jobId);
    await stage.timers();
    return jobId;
  }

  it('send-after-approval sends a letter after an approval', async () => {
    const jobId = await sendLetter();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent as letter-1.' });
    expect(mail.requests.map(({ method, path, body }) => [method, path, JSON.parse(body) as unknown])).toEqual([
      ['POST', '/v1/letters', { to: 'ada@example.org', text: 'Dear Ada!' }],
    ]);
  });

  it('send-after-approval returns the letter with an explanation when it could not be sent', async () => {
    mailStatus = 500;
    const jobId = await sendLetter();
    expect(await stage.ended(jobId)).toMatchObject({
      ...{ status: 'completed', content: 'This letter could not be sent. The node "Send" says why.\n\nDear Ada!' },
    });
  });

  it('each example has a test in this file', () => {
    expect([...played].toSorted()).toEqual(
      readdirSync(folder)
        .map((file) => file.replace('.json', ''))
        .toSorted(),
    );
  });
});

const review = { hitl: { enabled: true, mode: 'review' } };

/** The lines of the list of differences that only whole jobs show. */
describe('differences of a job from or3-workflow-core:', () => {
  it('3: or3 outputs the text of the last node of a body; Nightshift only the text of the last nodes of the workflow', async () => {
    const loop = { conditionPrompt: '<more?>', loopMode: 'fixed', maxIterations: 1 };
    const heard: string[] = [];
    await runThere(
      definition({ l: ['whileLoop', loop], b: 'agent', z: 'agent' }, ['start > l', 'l:body > b', 'l:done > z']),
      worldOf({ b: 'Inside', z: 'Last' }, { heard: (text) => heard.push(text) }),
    );
    expect(heard).toEqual(['Inside', 'Last']);

    stage.script('Inside.', textReply(['Inside']));
    stage.script('Last.', textReply(['Last']));
    const nodes = { l: { type: 'whileLoop', ...loop }, b: agent('Inside.'), z: agent('Last.') };
    const jobId = await stage.run(nodes, ['start -> l', 'l.body -> b', 'l.done -> z']);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Last' });
    const deltas = (await stage.eventsOf(jobId, 'text-delta')).filter(({ body }) => 'offset' in body);
    expect(deltas.map(({ body }) => body['text'])).toEqual(['Last']);
  });

  it('10: or3 repeats a request that was sent back after a restart; Nightshift continues after it', async () => {
    const document = definition({ a: ['agent', review] }, ['start > a']);
    const texts = ['Draft', 'lost', 'Draft', 'Better'];
    const seen: (string | undefined)[] = [];
    const world = worldOf(
      {
        a: () =>
          texts[0] === 'lost' ? { text: '', fail: { message: 'lost', status: 401 } } : { text: texts[0] ?? '' },
      },
      {
        person: (_, output) => {
          texts.shift();
          seen.push(output);
          return { action: 'reject' };
        },
      },
    );
    expect(await runThere(document, world)).toMatchObject({ success: false });
    texts.shift();
    const resumeFrom = {
      startNodeId: 'a',
      nodeOutputs: { start: 'Hello' },
      executionOrder: ['start'],
      resumeInput: 'Hello',
    };
    await runThere(document, world, { resumeFrom });
    expect(seen).toEqual(['Draft', 'Draft']);

    const gate = createGate();
    stage.script('Draft it.', textReply(['Draft']), { ...textReply(['lost']), before: gate }, textReply(['Better']));
    const jobId = await stage.run({ a: agent('Draft it.', review) }, ['start -> a']);
    const [first] = await stage.asks(jobId, 1);
    await stage.answer(first, { action: 'reject' });
    await eventually('it is written again', () => (stage.requests('Draft it.').length >= 2 ? true : undefined));
    await stage.loseLease(jobId);
    const [second] = [...(await stage.waitsAt(jobId)).values()];
    gate.open();
    expect([first, second].map((one) => one?.request['context'])).toEqual([
      expect.objectContaining({ output: 'Draft' }),
      expect.objectContaining({ output: 'Better' }),
    ]);
    await stage.answer(second, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Better' });
  });

  it('16: a request never expires in or3; in Nightshift it expires after seven days', async () => {
    const approval = { hitl: { enabled: true, mode: 'approval' } };
    const asked = createGate();
    const there = runThere(definition({ a: ['agent', approval] }, ['start > a']), worldOf({}), {
      onHITLRequest: (request) => {
        expect(request.expiresAt).toBeUndefined();
        asked.open();
        return new Promise(() => undefined);
      },
    });
    await Promise.race([asked.opened, there]);

    const jobId = await stage.run({ a: agent('Draft it.', approval) }, ['start -> a']);
    const [request] = await stage.asks(jobId, 1);
    const rows = await stage.rows<{ days: string }>(
      `SELECT round(extract(epoch FROM expires_at - created_at) / 86400) AS days FROM interrupt WHERE id = $1`,
      [request?.id],
    );
    expect(rows).toEqual([{ days: '7' }]);
    await stage.stop(jobId);
  });
});
