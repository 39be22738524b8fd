/* Medusa builds the providers inside its payment module; hooks, jobs and routes of the plugin need them, too. */

interface Called {
  isCalled(id: string): boolean;
}

export class BuiltProviders<Provider extends Called> {
  readonly #built = new Set<Provider>();

  add(provider: Provider): void {
    this.#built.add(provider);
  }

  called(id: string): Provider | undefined {
    return [...this.#built].find((provider) => provider.isCalled(id));
  }
}
