import { QuittancePaymentProvider } from './provider.ts';

export { guardCancellation, guardChange, guardCompletion } from './guards.ts';
export type { QuittanceOptions } from './options.ts';
export { QuittancePaymentProvider } from './provider.ts';

/** What `ModuleProvider(Modules.PAYMENT, ...)` makes. */
// oxlint-disable-next-line import/no-default-export -- Medusa loads the default export.
export default { module: 'payment', services: [QuittancePaymentProvider] };
