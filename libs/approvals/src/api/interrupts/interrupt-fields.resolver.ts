import { ResolveField, Resolver } from '@nestjs/graphql';

import type { GraphqlContext } from '#auth/api';
import type { Interrupt, Job, Notification } from '#jobs';
import { JobLoaders, JobModel, NotificationModel } from '#jobs/api';
import { listCost, toNodeId } from '#platform/api';

import { mayDecide } from '../../policies/may-decide.js';
import { InterruptModel } from './interrupt.model.js';
import { InterruptLoaders } from './interrupt-loaders.js';

/** The fields of a request that are not in its own row. */
@Resolver(() => InterruptModel)
export class InterruptFieldsResolver {
  constructor(private readonly jobs: JobLoaders) {}

  @ResolveField(() => String)
  nodeId(interrupt: Interrupt): string {
    return toNodeId('Interrupt', interrupt.id);
  }

  @ResolveField(() => String, { nullable: true, description: 'The workflow node that waits.' })
  workflowNodeId({ nodeId }: Interrupt): string | null {
    return nodeId;
  }

  @ResolveField(() => String, {
    nullable: true,
    description: 'How it was settled: such as `approved`, `denied`, `expired`, or the action of a person.',
  })
  outcome({ outcome }: Interrupt): string | null {
    return outcome?.outcome ?? null;
  }

  @ResolveField(() => Boolean, {
    description: 'Whether the caller may decide it now. Checked again at the decision. False for client tools.',
  })
  mayDecide(interrupt: Interrupt, _: unknown, { member }: GraphqlContext): boolean {
    const { status, kind, requester } = interrupt;
    return status === 'open' && kind !== 'client_tool' && mayDecide(member, { ...interrupt, jobCreatedBy: requester });
  }

  @ResolveField(() => JobModel, { nullable: true, description: 'The job that waits.' })
  job({ jobId }: Interrupt, _: unknown, context: GraphqlContext): Promise<Job | null> {
    return this.jobs.of(context).jobs.load(jobId);
  }
}

/** The requests of a job. */
@Resolver(() => JobModel)
export class JobInterruptsResolver {
  constructor(private readonly loaders: InterruptLoaders) {}

  @ResolveField(() => [InterruptModel], {
    description: 'Its open requests, oldest first. Settled ones are in the query `interrupts`.',
    complexity: listCost(2),
  })
  interrupts({ id, finishedAt }: Job, _: unknown, context: GraphqlContext): Promise<readonly Interrupt[]> | [] {
    return finishedAt === null ? this.loaders.of(context).openOfJob.load(id) : [];
  }
}

/** The request that a notification is about. */
@Resolver(() => NotificationModel)
export class NotificationInterruptResolver {
  constructor(private readonly loaders: InterruptLoaders) {}

  @ResolveField(() => InterruptModel, { nullable: true, description: 'The request in its current state.' })
  interrupt({ interruptId }: Notification, _: unknown, context: GraphqlContext): Promise<Interrupt | null> | null {
    return interruptId === null ? null : this.loaders.of(context).interrupts.load(interruptId);
  }
}
