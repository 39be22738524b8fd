import { comparePayments } from '../compare.ts';
import { providersIn, type Scope } from '../scope.ts';

/** Whatever messages were lost: payments of both sides are compared every five minutes. */
// oxlint-disable-next-line import/no-default-export -- Medusa runs the default export.
export default async function comparePaymentsJob(scope: Scope): Promise<void> {
  for (const provider of await providersIn(scope)) await comparePayments(scope, provider);
}

export const config = { name: 'quittance-compare-payments', schedule: '*/5 * * * *' };
