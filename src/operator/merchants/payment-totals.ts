import { FILTER_STATUSES } from '../../../projections/sessions/session-list.ts';
import { isDay } from '../../domain/values/calendar.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import { oneOf } from '../../domain/values/one-of.ts';
import type { PaymentTotals, TotalsAsked } from '../../features/sessions/lists/payment-totals.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import {
  json,
  optionalText,
  refused,
  merchantIn,
  type AdminArguments,
  type AdminCommands,
} from '../server/commands.ts';

interface Parts {
  readonly totals: (
    owner: Pick<Caller, 'merchantId' | 'mode'>,
    asked: TotalsAsked,
  ) => Promise<readonly PaymentTotals[]>;
  readonly modeOfMerchant: (id: MerchantId) => Mode | null;
}

/** Payments of a merchant, counted and summed by coin under the filters of their list. */
export const paymentTotalsCommands = ({ totals, modeOfMerchant }: Parts): AdminCommands => ({
  'session.totals': async (args) => {
    const merchantId = merchantIn(args);
    const mode = modeOfMerchant(merchantId) ?? refused('merchant_id is not a merchant');
    return json({ mode, totals: await totals({ merchantId, mode }, askedIn(args)) });
  },
});

const isStatus = oneOf(FILTER_STATUSES);

function askedIn(args: AdminArguments): TotalsAsked {
  const [status, orderId] = [given(args, 'status'), given(args, 'order')];
  const [from, to] = [dayIn(args, 'from'), dayIn(args, 'to')];
  if (status !== undefined && !isStatus(status)) return refused(`status must be one of ${FILTER_STATUSES.join(', ')}`);
  return {
    ...(status !== undefined && { status }),
    ...(orderId !== undefined && { orderId }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    byDay: args['byDay'] === true,
  };
}

const given = (args: AdminArguments, name: string): string | undefined => optionalText(args, name)?.trim() || undefined;

function dayIn(args: AdminArguments, name: string): string | undefined {
  const day = given(args, name);
  return day === undefined || isDay(day) ? day : refused(`${name} must be a day such as 2026-10-31`);
}
