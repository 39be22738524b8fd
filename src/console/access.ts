import type { Grant, PersonRole } from '../domain/events/person-events.ts';
import type { MerchantId } from '../domain/values/ids.ts';
import { oneOf } from '../domain/values/one-of.ts';

/**
 * Everything that can be done in the console. Actions of the first list apply to one merchant, the others to the whole
 * service.
 */
const OF_A_MERCHANT = [
  'payments.read',
  'payments.create',
  'payments.refund',
  'requests.read',
  'webhooks.read',
  'webhooks.redeliver',
  'webhooks.change',
  'keys.read',
  'keys.change',
  'settings.read',
  'settings.change',
  'statements.read',
] as const;
const OF_THE_SERVICE = [
  'attention.read',
  'chains.read',
  'chains.rescan',
  'deliveries.read',
  'service.read',
  'service.rebuild',
  'unmatched.read',
  'unmatched.decide',
  'treasury.read',
  'treasury.propose',
  'treasury.approve',
  'treasury.stop',
  'treasury.compare',
  'books.read',
  'books.close',
  'books.adjust',
  'audit.read',
  'merchants.create',
  'people.read',
  'people.change',
  'actions.read',
] as const;

export type MerchantAction = (typeof OF_A_MERCHANT)[number];
export type ServiceAction = (typeof OF_THE_SERVICE)[number];
export type Action = MerchantAction | ServiceAction;

export const ACTIONS: readonly Action[] = [...OF_A_MERCHANT, ...OF_THE_SERVICE];

const isReading = (action: Action): boolean => action.endsWith('.read');
export const isOfMerchant = oneOf(OF_A_MERCHANT);

const VIEWER: readonly Action[] = ['payments.read', 'requests.read', 'webhooks.read', 'settings.read'];

const FINANCE: readonly Action[] = [
  'payments.read',
  'statements.read',
  'settings.read',
  'unmatched.read',
  'treasury.read',
  'treasury.propose',
  'books.read',
  'books.close',
  'books.adjust',
  'audit.read',
  'attention.read',
];
const OPERATOR: readonly Action[] = [
  'payments.read',
  'requests.read',
  'webhooks.read',
  'webhooks.redeliver',
  'webhooks.change',
  'keys.read',
  'keys.change',
  'settings.read',
  'settings.change',
  'attention.read',
  'chains.read',
  'chains.rescan',
  'deliveries.read',
  'service.read',
  'service.rebuild',
  'unmatched.read',
  'unmatched.decide',
  'treasury.read',
  'treasury.propose',
  'treasury.stop',
  'treasury.compare',
  'merchants.create',
  'people.read',
  'people.change',
  'actions.read',
];

/** Who may do what. Whatever this table says, an approval counts only with a key that the signer knows. */
export const ROLE_ACTIONS: Readonly<Record<PersonRole, readonly Action[]>> = {
  viewer: VIEWER,
  support: [...VIEWER, 'payments.create', 'payments.refund', 'webhooks.redeliver'],
  merchant_admin: OF_A_MERCHANT,
  finance: FINANCE,
  operator: OPERATOR,
  approver: ['attention.read', 'treasury.read', 'treasury.approve', 'treasury.stop'],
  auditor: ACTIONS.filter(isReading),
};

/** Whether these current grants allow the action for the merchant, or without one for the whole service. */
export function allows(grants: readonly Grant[], action: Action, merchantId: MerchantId | null): boolean {
  return grants.some(
    (grant) =>
      ROLE_ACTIONS[grant.role].includes(action) && (grant.merchantId === null || grant.merchantId === merchantId),
  );
}

/** Whether the grants allow the action for at least one merchant, so that a link to it makes sense. */
export const allowsSomewhere = (grants: readonly Grant[], action: Action): boolean =>
  grants.some(({ role }) => ROLE_ACTIONS[role].includes(action));
