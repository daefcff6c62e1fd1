import { Field, ID, InputType } from '@nestjs/graphql';

import { DateTime } from '../scalars/date-time.scalar.js';

@InputType({ description: 'Compares an id.' })
export class IdFilter {
  @Field(() => ID, { description: 'Equals this id.' })
  eq!: string;
}

@InputType({ description: 'Compares an instant.' })
export class DateTimeFilter {
  @Field(() => DateTime, { nullable: true, description: 'At this instant or later.' })
  gte?: number | null;

  @Field(() => DateTime, { nullable: true, description: 'Before this instant.' })
  lt?: number | null;
}
