import { describe, expect, it } from '@jest/globals';

import {
  eventsOf,
  oneByOne,
  plainTerms,
  readAnswer,
  snapshotOf,
  takeItem,
} from '../../../../../test/harness/answer-reading.js';
import { asLog, buildStory, finishedAs } from '../../../../../test/harness/answer-stories.js';
import { AnswerReader, type AnswerTerms } from './answer-reader.js';

const call = (...statuses: string[]) => ({ id: 'call_1', name: 'workflow.review', args: '{}', statuses, result: 'ok' });
const calling = (...statuses: string[]) => asLog(buildStory([{ attempts: [['Hm']], calls: [call(...statuses)] }]));
const approval = { id: 'i-1', kind: 'tool_approval' } as const;
const comment = (id: string) => ({ type: 'comment', text: `waiting approval ${id}` });

function readerAfter(log: ReturnType<typeof calling>, terms: Partial<AnswerTerms> = {}) {
  const reader = new AnswerReader({ ...plainTerms, ...terms });
  takeItem(reader, eventsOf(log));
  return reader;
}

describe('AnswerReader with requests of child jobs', () => {
  it('reports a request once and waits for it while the call runs', () => {
    const log = calling('running', 'completed');
    const reader = readerAfter(log.slice(0, -1));
    expect([reader.hasSubJobs, reader.takeOfSubJobs([approval])]).toEqual([true, [comment('i-1')]]);
    expect([reader.takeOfSubJobs([approval]), reader.waitsFor]).toEqual([[], ['i-1']]);
    expect(reader.takeOfSubJobs([approval, { id: 'i-2', kind: 'human_input' }])).toEqual([comment('i-2')]);
    takeItem(reader, eventsOf(log.slice(-1)));
    expect([reader.hasSubJobs, reader.waitsFor, reader.takeOfSubJobs([approval])]).toEqual([false, [], []]);
  });

  it('ignores waits, and client requests in a strict response', () => {
    const others = [
      { id: 'i-1', kind: 'wait' },
      { id: 'i-2', kind: 'client_tool' },
    ] as const;
    expect(readerAfter(calling('running')).takeOfSubJobs(others)).toEqual([comment('i-2')]);
    expect(readerAfter(calling('running'), { format: 'openai' }).takeOfSubJobs(others)).toEqual([]);
  });

  it('reports requests to a late client after all earlier content', () => {
    const log = calling('running');
    const terms = { catchUpTo: log.at(-1)?.seq ?? 0 };
    const reader = readerAfter(log.slice(0, -1), terms);
    expect(reader.takeOfSubJobs([approval])).toEqual([]);
    expect(takeItem(reader, eventsOf(log.slice(-1)))).not.toContainEqual(comment('i-1'));
    expect(reader.takeOfSubJobs([approval])).toEqual([comment('i-1')]);
    const late = new AnswerReader({ ...plainTerms, ...terms });
    takeItem(late, snapshotOf(log));
    expect(late.takeOfSubJobs([approval])).toEqual([comment('i-1')]);
  });

  it('reports no requests when no call started a sub-job', () => {
    const reader = new AnswerReader(plainTerms);
    const local = { ...call('running'), name: 'send' };
    takeItem(reader, eventsOf(asLog(buildStory([{ attempts: [['Hm']], calls: [local] }]))));
    expect([reader.hasSubJobs, reader.takeOfSubJobs([approval])]).toEqual([false, []]);
  });
});

describe('AnswerReader of a strict response that must not wait for people', () => {
  const log = asLog([...buildStory([{ attempts: [['Hm']], calls: [] }]), finishedAs('cancelled', 'human_wait')]);
  it("ends with 400 'cannot pause for human approval or input', from events and from a snapshot", () => {
    const message = 'x-tool-event-format=openai cannot pause for human approval or input';
    for (const items of [oneByOne(log), [snapshotOf(log)]]) {
      expect(readAnswer(items, { format: 'openai' }).at(-1)).toMatchObject({
        type: 'end',
        error: { status: 400, message, param: null, code: null },
      });
      expect(readAnswer(items).at(-1)).toMatchObject({ error: { code: 'job_cancelled' } });
    }
  });
});
