import { registerEnumType } from '@nestjs/graphql';

import type { HumanInputAction } from '../../interrupts/human-input-interrupt.js';

/** GraphQL's names of actions on a form. */
export const InterruptActionEnum = {
  APPROVE: 'approve',
  REJECT: 'reject',
  SUBMIT: 'submit',
  MODIFY: 'modify',
  SKIP: 'skip',
  CUSTOM: 'custom',
} as const satisfies Record<Uppercase<HumanInputAction>, HumanInputAction>;

registerEnumType(InterruptActionEnum, {
  name: 'InterruptAction',
  description:
    'The action on a HUMAN_INPUT request. `request.actions` lists the allowed ones. SUBMIT delivers the event of a WAIT.',
  valuesMap: {
    APPROVE: { description: 'Continues. `data`, if given, replaces the input.' },
    REJECT: { description: 'Rejects the request.' },
    SUBMIT: { description: 'Answers with `data`.' },
    MODIFY: {
      description: 'Continues with `data` instead of the shown value, or with the shown value if `data` is absent.',
    },
    SKIP: { description: 'Skips the question. Not allowed if `request.dataRequired` is true.' },
    CUSTOM: { description: "One of the request's own options, in `data`." },
  },
});
