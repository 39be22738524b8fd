import type { QuittancePaymentProvider } from './provider.ts';

/* Medusa builds the providers inside its payment module; hooks, jobs and routes of the plugin need them, too. */

const built = new Set<QuittancePaymentProvider>();

export const register = (provider: QuittancePaymentProvider): void => void built.add(provider);

export const providerCalled = (id: string): QuittancePaymentProvider | undefined =>
  [...built].find((provider) => provider.isCalled(id));
