import type { Amount, Logger, ProviderData, SessionRow } from './medusa.ts';
import { builtProviders } from './provider.ts';
import type { QuittancePaymentProvider } from './provider.ts';

/* What hooks, jobs, subscribers and routes of a plugin get from Medusa. */

interface Known {
  readonly query: Query;
  readonly payment: PaymentModule;
  readonly notification: NotificationModule;
  readonly workflows: { run(name: string, options: { readonly input: object }): Promise<unknown> };
  readonly logger: Logger;
}

export interface Scope {
  resolve<Name extends keyof Known>(name: Name): Known[Name];
}

interface Query {
  graph(asked: {
    readonly entity: string;
    readonly fields: readonly string[];
    readonly filters: object;
  }): Promise<{ readonly data: readonly unknown[] }>;
}

interface PaymentModule {
  listPaymentProviders(filters: object): Promise<readonly { readonly id: string }[]>;
  listPaymentMethods(filters: { provider_id: string; context: object }): Promise<unknown>;
  listPaymentSessions(filters: object): Promise<readonly (SessionRow & { readonly status: string })[]>;
  listPayments(filters: object, config?: object): Promise<readonly ModulePayment[]>;
  updatePayment(change: { id: string; metadata: ProviderData }): Promise<unknown>;
}

export interface ModulePayment {
  readonly id: string;
  readonly provider_id: string;
  readonly data?: ProviderData | null;
  readonly metadata?: ProviderData | null;
  readonly captures?: readonly { readonly amount: Amount }[];
  readonly refunds?: readonly { readonly id: string; readonly amount: Amount }[];
}

interface NotificationModule {
  listNotifications(filters: object): Promise<readonly unknown[]>;
  createNotifications(notification: object): Promise<unknown>;
}

interface HookCart {
  readonly id: string;
  readonly currency_code: string;
  readonly total: Amount;
  readonly raw_total?: Amount;
  readonly payment_collection?: {
    readonly id: string;
    readonly amount: Amount;
    readonly raw_amount?: Amount;
    readonly currency_code: string;
    readonly payment_sessions?: readonly (SessionRow & { readonly status: string })[];
  } | null;
}

export interface HookInput {
  readonly cart?: HookCart;
  readonly order?: { readonly id: string };
}

const PREFIX = 'pp_quittance_';

export const isQuittance = (providerId: string): boolean => providerId.startsWith(PREFIX);

/** The provider by Medusa's name for it, which Medusa builds when it is first asked something. */
export async function providerIn(scope: Scope, id: string): Promise<QuittancePaymentProvider | undefined> {
  const built = builtProviders.called(id);
  if (built !== undefined || !isQuittance(id)) return built;
  await scope.resolve('payment').listPaymentMethods({ provider_id: id, context: {} });
  return builtProviders.called(id);
}

export async function providersIn(scope: Scope): Promise<QuittancePaymentProvider[]> {
  const ids = (await scope.resolve('payment').listPaymentProviders({ is_enabled: true })).map(({ id }) => id);
  const found = await Promise.all(ids.map((id) => providerIn(scope, id)));
  return found.filter((one) => one !== undefined);
}

/** One value of the first row that a query finds. */
export async function linked(scope: Scope, entity: string, field: string, filters: object): Promise<string | null> {
  const { data } = await scope.resolve('query').graph({ entity, fields: [field], filters });
  const row = data[0];
  const value: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, field) : undefined;
  return typeof value === 'string' ? value : null;
}

export const orderOf = (scope: Scope, collectionId: string): Promise<string | null> =>
  linked(scope, 'order_payment_collection', 'order_id', { payment_collection_id: collectionId });

export async function collectionsOf(scope: Scope, orderId: string): Promise<string[]> {
  const { data } = await scope.resolve('query').graph({
    entity: 'order_payment_collection',
    fields: ['payment_collection_id'],
    filters: { order_id: orderId },
  });
  return data.flatMap((row) => {
    const id: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, 'payment_collection_id') : undefined;
    return typeof id === 'string' ? [id] : [];
  });
}
