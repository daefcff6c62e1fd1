import { AppError } from '#platform';

import type { Interrupt } from '../interrupt.js';

/** Unknown, of another tenant, or of a job that may not be read. */
export const requestNotFound = () => new AppError({ code: 'not_found', message: 'Request not found' });

/** Settled before, otherwise than is asked for now. `details` tells how. */
export const alreadyAnswered = ({ status, outcome }: Pick<Interrupt, 'status' | 'outcome'>) =>
  new AppError({
    code: 'already_answered',
    message: 'Request already answered',
    details: { status, outcome: outcome?.outcome ?? status },
  });

export const requestExpired = () => new AppError({ code: 'expired', message: 'Request expired' });
