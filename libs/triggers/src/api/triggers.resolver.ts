import { Args, Context, ID, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { AppError } from '#platform';
import {
  type ConnectionOf,
  cpuBoundCost,
  ForwardPageArgs,
  Json,
  listCost,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import { isJsonObject } from '../inbound/trigger-definition.js';
import type { TriggerRun } from '../inbound/trigger-runs.repository.js';
import type { StoredTrigger } from '../inbound/triggers.repository.js';
import { type TestedEvent, type TriggerMatch, TriggersService } from '../inbound/triggers.service.js';
import {
  CancelTriggerRunInput,
  DeleteTriggerInput,
  SaveTriggerInput,
  SetTriggerEnabledInput,
  TestTriggerInput,
  TriggerConnection,
  TriggerMatchModel,
  TriggerModel,
  TriggerPayload,
  TriggerRunModel,
  TriggerRunPayload,
  TriggerRunsArgs,
  TriggerValidation,
} from './trigger.model.js';

const kind = 'triggers';
const maxRuns = 100;

/** Shows, changes and tries triggers. */
@Resolver(() => TriggerModel)
export class TriggersResolver {
  constructor(private readonly triggers: TriggersService) {}

  @RequireAbility('read', 'Trigger')
  @Query(() => TriggerConnection, {
    name: kind,
    description: 'The triggers of the workspace, newest first. Requires the role owner or admin.',
    complexity: pageCost,
  })
  async list(
    @Args('database', { type: () => String, nullable: true, description: 'Only the triggers of this database.' })
    database: string | null,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<StoredTrigger>> {
    const page = await this.triggers.list(member, database ?? null, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Trigger')
  @Query(() => TriggerModel, { nullable: true, description: 'A trigger. Null: not found.' })
  trigger(
    @Args('id', { type: () => ID, description: 'Its id.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<StoredTrigger | null> {
    return orNull(this.triggers.get(member, id));
  }

  @RequireAbility('manage', 'Trigger')
  @Query(() => [TriggerMatchModel], {
    description:
      'Evaluates the enabled triggers for an event and returns what each would do. It sends no request and starts no job.',
    complexity: listCost(50),
  })
  testTrigger(
    @Args('input', { type: () => TestTriggerInput, description: 'The event.' }) input: TestTriggerInput,
    @Context() { member }: GraphqlContext,
  ): Promise<readonly TriggerMatch[]> {
    return this.triggers.test(member, toEvent(input));
  }

  @RequireAbility('manage', 'Trigger')
  @Query(() => TriggerValidation, {
    description: 'Checks a definition and shows it with its defaults. Nothing is saved.',
    complexity: cpuBoundCost,
  })
  validateTrigger(
    @Args('definition', { type: () => Json, description: 'The fields of docs/triggers.md.' }) definition: unknown,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(() => Promise.resolve({ definition: this.triggers.validate(member, definition) }));
  }

  @RequireAbility('manage', 'Trigger')
  @Mutation(() => TriggerRunPayload, {
    description:
      'Cancels a `DUE` run, such as one with `start.delay`. It then starts no job. `conflict`: its job is starting, or the run has ended.',
  })
  cancelTriggerRun(
    @Args('input', { type: () => CancelTriggerRunInput, description: 'The run.' }) { id }: CancelTriggerRunInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ run: await this.triggers.cancelRun(member, id) }));
  }

  @ResolveField(() => [TriggerRunModel], {
    description: 'Its runs of the last 7 days, newest first. Empty for a trigger that sends requests.',
    complexity: listCost(10),
  })
  runs(
    @Parent() { id }: StoredTrigger,
    @Args() { count, status }: TriggerRunsArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<readonly TriggerRun[]> {
    if (count < 1 || count > maxRuns) throw invalid('count', `count must be 1 to ${maxRuns}`);
    return this.triggers.runsOf(member, { triggerId: id, status: status ?? null, take: count });
  }

  @RequireAbility('manage', 'Trigger')
  @Mutation(() => TriggerPayload, {
    description: 'Creates a trigger, or replaces the one with its `database` and `triggerId`.',
  })
  saveTrigger(
    @Args('input', { type: () => SaveTriggerInput, description: 'The trigger.' })
    { definition, enabled }: SaveTriggerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ trigger: await this.triggers.save(member, { definition, enabled }) }));
  }

  @RequireAbility('manage', 'Trigger')
  @Mutation(() => TriggerPayload, {
    description: 'Turns a trigger on or off. It keeps the rights of the member who saved it.',
  })
  setTriggerEnabled(
    @Args('input', { type: () => SetTriggerEnabledInput, description: 'The trigger and its state.' })
    { id, enabled }: SetTriggerEnabledInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ trigger: await this.triggers.setEnabled(member, id, enabled) }));
  }

  @RequireAbility('manage', 'Trigger')
  @Mutation(() => TriggerPayload, { description: 'Deletes a trigger and its runs; the jobs that it started continue.' })
  deleteTrigger(
    @Args('input', { type: () => DeleteTriggerInput, description: 'The trigger.' }) { id }: DeleteTriggerInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ trigger: await this.triggers.delete(member, id) }));
  }
}

function toEvent({
  database,
  triggerId,
  type,
  collection,
  documentId,
  document,
  before,
}: TestTriggerInput): TestedEvent {
  const [after, old] = [toObject('document', document), toObject('before', before)];
  if (type == null) return { database, triggerId: triggerId ?? null, change: null, body: after ?? {} };
  if (!collection) throw invalid('collection', 'collection is required for a change of a document');
  const given = { document: after, before: old };
  const change = { type, collection, documentId: documentId ?? 'test', timestamp: Date.now(), ...given };
  return { database, triggerId: triggerId ?? null, change, body: {} };
}

function toObject(field: string, given: unknown): Readonly<Record<string, unknown>> | undefined {
  if (given == null) return undefined;
  if (!isJsonObject(given)) throw invalid(field, `${field} must be an object`);
  return given;
}

function invalid(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
