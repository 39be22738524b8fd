import { maxDecimals, shownDecimals } from '../../domain/money/currencies.ts';
import { isDay } from '../../domain/values/calendar.ts';
import { parsePaymentLinkId, type MerchantId, type Mode, type PaymentLinkId } from '../../domain/values/ids.ts';
import { decimalsOf } from '../../domain/money/money.ts';
import { textOfRefusal } from '../../domain/values/result.ts';
import type {
  LinkPayment,
  PaymentLinkInput,
  PaymentLinks,
  PaymentLinkView,
} from '../../features/payment-links/payment-links.ts';
import type { Outcome } from '../../features/shared/merchant-api.ts';
import { paddedAmount } from '../../http/presenters/amount-text.ts';
import { createSessionBody } from '../../http/schemas/session.schema.ts';
import type { Random } from '../../ports/random.ts';
import { actorOf } from '../server/acts.ts';
import {
  json,
  optionalText,
  refused,
  merchantIn,
  requiredText,
  type AdminArguments,
  type AdminCommands,
} from '../server/commands.ts';
import { optionalWhole } from '../server/whole-number.ts';

interface Parts {
  readonly links: Pick<PaymentLinks, 'create' | 'get' | 'list' | 'payments' | 'switchOff'>;
  readonly publicUrl: string;
  readonly modeOfMerchant: (id: MerchantId) => Mode | null;
  readonly random: Random;
}

const PAGE = 20;
const PAYMENTS_PAGE = 50;
const USUAL_USES = 100;
const USUAL_OPEN = 20;
const USUAL_UNPAID_PER_DAY = 100;
const DAY_SEC = 86_400;

/** Links with which each visitor makes their own payment. */
export function paymentLinkCommands(parts: Parts): AdminCommands {
  const { links, publicUrl, random } = parts;
  const readerOf = (args: AdminArguments) => {
    const merchantId = merchantIn(args);
    return { merchantId, mode: parts.modeOfMerchant(merchantId) ?? refused('merchant_id is not a merchant') };
  };
  const by = (args: AdminArguments) => ({ actor: actorOf(args), correlationId: random.uuid() });
  return {
    'payment-link.create': async (args) =>
      json(present(publicUrl, accepted(await links.create(readerOf(args), inputOf(args), by(args))))),
    'payment-link.list': async (args) => {
      const { links: found, next } = await links.list(readerOf(args), {
        after: optionalText(args, 'cursor'),
        limit: PAGE,
      });
      return json({ payment_links: found.map((link) => present(publicUrl, link)), next_cursor: next });
    },
    'payment-link.show': async (args) => {
      const [reader, id] = [readerOf(args), linkIdOf(args)];
      const [link, made] = await Promise.all([
        links.get(reader, id),
        links.payments(reader, id, { before: optionalWhole(args, 'before'), limit: PAYMENTS_PAGE }),
      ]);
      if (!link || !made) return refused('no such payment link');
      return json({ ...present(publicUrl, link), payments: made.payments.map(presentPayment), next_before: made.next });
    },
    'payment-link.off': async (args) =>
      json(
        present(
          publicUrl,
          accepted(await links.switchOff(readerOf(args), linkIdOf(args), requiredText(args, 'reason'), by(args))),
        ),
      ),
  };
}

const accepted = (outcome: Outcome<PaymentLinkView>): PaymentLinkView =>
  outcome.ok ? outcome.value : refused(textOfRefusal(outcome.refusal));

const linkIdOf = (args: AdminArguments): PaymentLinkId =>
  parsePaymentLinkId(requiredText(args, 'link_id')) ?? refused('link_id is not a payment link');

const FIELDS = createSessionBody.pick({ amount: true, currency: true, description: true });

/** Parses the amount as the API does, with the same error messages. */
function inputOf(args: AdminArguments): PaymentLinkInput {
  const description = optionalText(args, 'description') ?? '';
  const [amount, code] = [requiredText(args, 'amount'), requiredText(args, 'currency')];
  const parsed = FIELDS.safeParse({ amount, currency: code, ...(description !== '' && { description }) });
  if (!parsed.success)
    return refused(parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`).join('; '));
  const currency = parsed.data.currency.toUpperCase();
  if (decimalsOf(amount) > maxDecimals(currency))
    return refused(`amount must have at most ${maxDecimals(currency)} decimals in ${currency}`);
  return {
    amount: paddedAmount(amount, shownDecimals(currency)),
    currency,
    description: description === '' ? null : description,
    maxUses: optionalWhole(args, 'uses') ?? USUAL_USES,
    maxOpen: optionalWhole(args, 'open') ?? USUAL_OPEN,
    maxUnpaidPerDay: optionalWhole(args, 'unpaid') ?? USUAL_UNPAID_PER_DAY,
    endsAtSec: endOf(args),
  };
}

/** The end of that day, UTC. */
function endOf(args: AdminArguments): number | null {
  const day = optionalText(args, 'ends') ?? '';
  if (day === '') return null;
  return isDay(day)
    ? Date.parse(`${day}T00:00:00Z`) / 1000 + DAY_SEC
    : refused('ends must be a day such as 2026-10-31');
}

const present = (publicUrl: string, link: PaymentLinkView) => ({
  id: link.linkId,
  url: `${publicUrl}/l/${link.linkId}`,
  status: link.status,
  mode: link.mode,
  merchant_id: link.merchantId,
  ...{ amount: link.amount, currency: link.currency, description: link.description },
  ...{ max_uses: link.maxUses, max_open: link.maxOpen, max_unpaid_per_day: link.maxUnpaidPerDay },
  ...{ ends_at: link.endsAtSec, created_at: link.createdAtSec },
  ...{ made: link.made, paid: link.paid, open: link.open, unpaid_in_day: link.unpaidOfDay },
  switched_off: link.switchedOff && { at: link.switchedOff.offAtSec, reason: link.switchedOff.reason },
});

const presentPayment = ({ number, orderId, sessionId }: LinkPayment) => ({
  number,
  order_id: orderId,
  session_id: sessionId,
});
