import type { NightshiftProcess } from '../harness/processes.js';
import type { Gate } from '../harness/scripted-reply.js';
import type { NodeScripts } from './node-scripts.js';
import type { Stage } from './stage.js';
import type { Viewer } from './viewer.js';
import { type Left, leftOf, runStory, type Story } from './workflow-stories.js';

/** A story in the midst of which a worker dies. */
export interface Loss extends Story {
  /** `<line> <round>`, or `<line> <round>#<n>` for the n-th time it is asked: answers of models that it does not hear to their end. */
  readonly unheard?: readonly string[];
  /** How many calls at the tool server it does not hear the end of. */
  readonly calls?: number;
  /** Resolves once all is done that is to be done before. */
  readonly before?: (viewer: Viewer) => Promise<unknown>;
  /** What people do, with a crash and without; if there was one, before anybody else has taken the job. */
  readonly people?: (viewer: Viewer) => Promise<unknown>;
  /** What people do because of the crash, once it is noticed. */
  readonly afterwards?: (viewer: Viewer) => Promise<unknown>;
  /** What is otherwise than without a crash. */
  readonly but?: (left: Left) => Left;
}

export type Losses = Readonly<Record<string, Loss>>;

/** What became of stories, by their names, and how often each `<line> <round>` was asked for them. */
export interface Ends {
  readonly left: Readonly<Record<string, Left>>;
  readonly viewers: Readonly<Record<string, Viewer>>;
  readonly asked: Readonly<Record<string, number>>;
}

type Begun = readonly (readonly [Loss, Viewer, name: string])[];

/** Plays each story twice: undisturbed, and with one worker that dies in the middle of all of them at once. */
export class LostStories {
  private victim: NightshiftProcess | undefined;

  constructor(
    private readonly stage: Stage,
    private readonly scripts: NodeScripts,
    private readonly losses: Losses,
  ) {}

  /** Both, one after the other. */
  async run(hold?: () => Gate, env: Readonly<Record<string, string>> = {}): Promise<{ calm: Ends; lost: Ends }> {
    const calm = await this.runCalm(env);
    return { calm, lost: await this.runLost(hold, env) };
  }

  /** In peace, by the worker that is to die. */
  async runCalm(env: Readonly<Record<string, string>> = {}): Promise<Ends> {
    this.victim = await this.stage.startWorker(env);
    return this.end(0, await this.begin(() => true, true));
  }

  /** With the death of that worker. `hold`: has more things outside not be answered before its gate opens. */
  async runLost(hold?: () => Gate, env: Readonly<Record<string, string>> = {}): Promise<Ends> {
    const { victim } = this;
    if (victim === undefined) throw new Error('run the calm ones first');
    const first = this.stage.model.requests.length;
    const unheard = Object.values(this.losses).flatMap((loss) => loss.unheard ?? []);
    const gates = unheard.map((round) => this.scripts.holdNext(round));
    if (hold !== undefined) gates.push(hold());
    const begun = await this.toTheWorst(gates);
    victim.kill('SIGKILL');
    await victim.exited;
    for (const gate of gates) gate.open();
    await Promise.all(begun.map(async ([{ people }, viewer]) => people?.(viewer)));
    await this.endLeases();
    await this.stage.startWorker(env);
    await Promise.all(begun.map(async ([{ afterwards }, viewer]) => afterwards?.(viewer)));
    return this.end(first, begun);
  }

  /** Brings each story to the step at which its worker dies. Blocked tools come last, so that no other story waits for them. */
  private async toTheWorst(gates: Gate[]): Promise<Begun> {
    const others = await this.begin(({ calls }) => calls === undefined, false);
    await Promise.all(others.flatMap(([{ unheard = [] }]) => unheard.map((round) => this.scripts.isHeld(round))));
    await Promise.all(others.map(async ([{ before }, viewer]) => before?.(viewer)));
    const { ledger } = this.stage;
    const called = ledger.calls.length;
    gates.push(ledger.holdAll());
    const callers = await this.begin(({ calls }) => calls !== undefined, false);
    await ledger.called(called + callers.reduce((sum, [{ calls = 0 }]) => sum + calls, 0));
    await Promise.all(callers.map(async ([{ before }, viewer]) => before?.(viewer)));
    return [...others, ...callers];
  }

  /** As their time would: the next worker has nothing to wait for. */
  private async endLeases(): Promise<void> {
    await this.stage.database.postgres.workerPool.query(
      `UPDATE job SET lease_until = clock_timestamp() - interval '1 s' WHERE status = 'running'`,
    );
  }

  private async begin(wanted: (loss: Loss) => boolean, withPeople: boolean): Promise<Begun> {
    const chosen = Object.entries(this.losses).filter(([, loss]) => wanted(loss));
    return Promise.all(
      chosen.map(async ([name, loss]) => {
        const viewer = await runStory(this.stage, loss);
        if (withPeople) await loss.people?.(viewer);
        return [loss, viewer, name] as const;
      }),
    );
  }

  private async end(first: number, begun: Begun): Promise<Ends> {
    const left = await Promise.all(
      begun.map(async ([, viewer, name]) => [name, await leftOf(this.stage, viewer)] as const),
    );
    return {
      left: Object.fromEntries(left),
      viewers: Object.fromEntries(begun.map(([, viewer, name]) => [name, viewer])),
      asked: this.scripts.asked(first),
    };
  }
}

/** What is left of a story, of that without a crash. */
export function leftWithLoss({ but }: Loss, left: Left | undefined): Left | undefined {
  return left === undefined || but === undefined ? left : but(left);
}

/** What is asked in all with a crash, if nothing is asked again but what was not heard. */
export function askedWithLosses(losses: Losses, { asked }: Ends): Readonly<Record<string, number>> {
  const unheard = Object.values(losses).flatMap((loss) => (loss.unheard ?? []).map((one) => one.split('#')[0]));
  return Object.fromEntries(
    Object.entries(asked).map(([round, n]) => [round, n + unheard.filter((one) => one === round).length]),
  );
}
