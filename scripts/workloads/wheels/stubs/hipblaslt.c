/* Stands in for AMD's hipBLASLt, which Debian's 6.4.3 lacks: a handle can be made, all else is
 * HIPBLAS_STATUS_NOT_SUPPORTED. */
int hipblasLtCreate(void** handle) {
  *handle = handle;
  return 0;
}
int hipblasLtDestroy(void* handle) { return handle == 0; }
int hipblasLtMatmul(void) { return 7; }
int hipblasLtMatmulAlgoGetHeuristic(void) { return 7; }
int hipblasLtMatmulDescCreate(void) { return 7; }
int hipblasLtMatmulDescDestroy(void) { return 7; }
int hipblasLtMatmulDescSetAttribute(void) { return 7; }
int hipblasLtMatmulPreferenceCreate(void) { return 7; }
int hipblasLtMatmulPreferenceDestroy(void) { return 7; }
int hipblasLtMatmulPreferenceSetAttribute(void) { return 7; }
int hipblasLtMatrixLayoutCreate(void) { return 7; }
int hipblasLtMatrixLayoutDestroy(void) { return 7; }
int hipblasLtMatrixLayoutSetAttribute(void) { return 7; }
