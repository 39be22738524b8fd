/* As much of Medusa as the plugin's hooks use. Medusa is there where it runs. */
declare module '@medusajs/medusa/core-flows' {
  type Hook = (handler: (input: never, context: never) => Promise<void>) => void;
  export const completeCartWorkflow: { readonly hooks: { readonly validate: Hook } };
  export const refreshPaymentCollectionForCartWorkflow: { readonly hooks: { readonly validate: Hook } };
  export const cancelOrderWorkflow: { readonly hooks: { readonly orderCanceled: Hook } };
}
