import { createTokenBucketLimiter } from '../../adapters/memory/token-bucket.ts';
import type { LinkPages } from '../../checkout/link.routes.ts';
import { PaymentLinks } from '../../features/payment-links/payment-links.ts';
import type { AddressLimits } from '../../http/address-limit.ts';
import type { AdminCommands } from '../../operator/server/commands.ts';
import { paymentLinkCommands } from '../../operator/merchants/payment-links.ts';
import { paymentLinks } from '../../../projections/payment-links/payment-links.projection.ts';
import type { Foundation } from '../service-foundation.ts';
import type { ServiceParts } from '../service-parts.ts';

/**
 * Limits of payments per visitor and link, and per link over all visitors. All customers of a market stall may share
 * one address.
 */
const VISITOR_PRESSES = { ratePerSec: 1 / 10, burst: 30 };
const LINK_PRESSES = { ratePerSec: 1, burst: 60 };

/** Null in processes that do not serve the API, which creates the payments. */
export function openPaymentLinks(
  { roles, clock, random, storage }: ServiceParts,
  { core, rates, servedRows }: Foundation,
): PaymentLinks | null {
  if (!roles.api) return null;
  const { paymentLinkHandler: handler, sessions } = core;
  return new PaymentLinks({
    handler,
    sessions,
    readModel: storage.readModel,
    servedRows: servedRows(paymentLinks),
    rates,
    clock,
    random,
  });
}

export function linkPages(
  { clock, random, sandbox }: Pick<ServiceParts, 'clock' | 'random' | 'sandbox'>,
  api: PaymentLinks,
  { clientAddress }: Pick<AddressLimits, 'clientAddress'>,
): LinkPages {
  const limiter = {
    visitors: createTokenBucketLimiter(VISITOR_PRESSES),
    links: createTokenBucketLimiter(LINK_PRESSES),
  };
  return { api, clock, random, limiter, clientAddress, sandbox };
}

export const linkCommands = (
  links: PaymentLinks | null,
  { random }: ServiceParts,
  { core }: Foundation,
  publicUrl: string,
): AdminCommands =>
  links
    ? paymentLinkCommands({
        links,
        publicUrl,
        random,
        modeOfMerchant: (id) => core.directory.settings(id)?.mode ?? null,
      })
    : {};
