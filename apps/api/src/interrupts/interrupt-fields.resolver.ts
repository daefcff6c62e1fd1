import { ResolveField, Resolver } from '@nestjs/graphql';

import type { Interrupt, Job } from '#jobs';
import { mayDecide } from '#tools';

import { listCost } from '../graphql/connections/to-page.js';
import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toNodeId } from '../graphql/node/node-id.js';
import { JobModel } from '../jobs/job.model.js';
import { InterruptModel } from './interrupt.model.js';

/** What a request shows beyond its own row. */
@Resolver(() => InterruptModel)
export class InterruptFieldsResolver {
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
  job({ jobId }: Interrupt, _: unknown, { loaders }: GraphqlContext): Promise<Job | null> {
    return loaders.jobs.load(jobId);
  }
}

/** What jobs show of their requests. */
@Resolver(() => JobModel)
export class JobInterruptsResolver {
  @ResolveField(() => [InterruptModel], {
    description: 'Its open requests, oldest first. Settled ones are in the query `interrupts`.',
    complexity: listCost(2),
  })
  interrupts({ id, finishedAt }: Job, _: unknown, { loaders }: GraphqlContext): Promise<readonly Interrupt[]> | [] {
    return finishedAt === null ? loaders.openInterruptsOfJob.load(id) : [];
  }
}
