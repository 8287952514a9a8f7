// SLEEF's deterministic functions for one lane. Its header shows them only to code that is itself compiled for
// processors with fused multiply-add; here the processor is asked at run time.
#pragma once

extern "C" {

double Sleef_finz_expd1_u10purecfma(double);
double Sleef_finz_logd1_u10purecfma(double);
double Sleef_finz_sind1_u10purecfma(double);
double Sleef_finz_cosd1_u10purecfma(double);
double Sleef_finz_tand1_u10purecfma(double);
double Sleef_finz_asind1_u10purecfma(double);
double Sleef_finz_acosd1_u10purecfma(double);
double Sleef_finz_atand1_u10purecfma(double);
double Sleef_finz_sinhd1_u10purecfma(double);
double Sleef_finz_coshd1_u10purecfma(double);
double Sleef_finz_tanhd1_u10purecfma(double);
double Sleef_finz_asinhd1_u10purecfma(double);
double Sleef_finz_acoshd1_u10purecfma(double);
double Sleef_finz_atanhd1_u10purecfma(double);
double Sleef_finz_powd1_u10purecfma(double, double);
double Sleef_finz_atan2d1_u10purecfma(double, double);

}  // extern "C"
